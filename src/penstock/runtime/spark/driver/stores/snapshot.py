"""A store as a DataFrame: a committed snapshot, read over all its partitions."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from penstock.runtime.spark.driver.stores.store_view import StoreView


def snapshot(spark: SparkSession, view: StoreView) -> DataFrame:
    """Return the entries of a store, with the columns of ``StoreView.to_arrow``."""
    return spark.createDataFrame(view.to_arrow())
