"""Registers ``spark.read.format("penstock")``, where PySpark has data sources in Python."""

from __future__ import annotations

from importlib import import_module

from pyspark.sql import SparkSession

from penstock.runtime.spark.spark_version import require_spark


def register_data_source(spark: SparkSession) -> None:
    """Register ``format("penstock")`` with a Spark session.

    Raises:
        StreamsError: ``old-spark``: this is PySpark 3.5, which has no data sources in Python.
    """
    require_spark('spark.read.format("penstock")', "4.0")
    # PySpark 3.5 does not have what that module imports.
    module = import_module("penstock.runtime.spark.topic_data_source")
    spark.dataSource.register(module.TopicDataSource)
