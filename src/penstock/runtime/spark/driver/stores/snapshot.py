"""A store as a DataFrame: a committed snapshot, read over all its partitions."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.runtime.spark.driver.stores.store_view import StoreView
from penstock.runtime.spark.spark_version import has_spark


def snapshot(spark: SparkSession, view: StoreView) -> DataFrame:
    """Return the entries of a store, with the columns of ``StoreView.to_arrow``."""
    table = view.to_arrow()
    if has_spark("4.0"):
        return spark.createDataFrame(table)
    rows = [tuple(row.values()) for row in table.to_pylist(maps_as_pydicts="strict")]
    return spark.createDataFrame(rows, from_arrow_schema(table.schema))
