"""The typed columns of what ``to_spark`` and ``to_lake`` collect as JSON text."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql.functions import (
    col,
    concat,
    from_json,
    get_json_object,
    lit,
    timestamp_millis,
    when,
)

from penstock.topology.nodes.topics.to_lake import DriverSink, ToLake


def typed_columns(sink: DriverSink) -> list[Column]:
    """Return the columns of a node's rows, made of ``key``, ``value`` and ``timestamp``.

    Those are bytes and milliseconds, as tasks have written them.
    """
    key, value = col("key").cast("string"), col("value").cast("string")
    if sink.is_windowed:
        key_column = _windowed_key(key, sink.key_type)
    else:
        key_column = _as(key, sink.key_type)
    columns = [
        key_column.alias("key"),
        _as(value, sink.value_type).alias("value"),
        timestamp_millis(col("timestamp")).alias("timestamp"),
    ]
    if sink.is_windowed:
        columns += [
            timestamp_millis(get_json_object(key, f"$.{name}").cast("bigint")).alias(name)
            for name in ("window_start", "window_end")
        ]
    return columns


def key_columns(sink: ToLake) -> list[str]:
    """Return the columns that say which row of a table of present rows is meant."""
    return ["key", *(["window_start", "window_end"] if sink.is_windowed else [])]


def _windowed_key(key: Column, spark_type: str | None) -> Column:
    if spark_type is None:
        return get_json_object(key, "$.key")
    return from_json(key, f"struct<key:{spark_type}>").getField("key")


def _as(text: Column, spark_type: str | None) -> Column:
    if spark_type is None:
        # Text is what it is; anything else stays as JSON.
        return when(text.startswith('"'), get_json_object(text, "$")).otherwise(text)
    if "<" in spark_type:
        return from_json(text, spark_type)
    # A single value is no document for Spark, and a JSON string is quoted; inside an object it is
    # read as its type.
    wrapped = concat(lit('{"v":'), text, lit("}"))
    return from_json(wrapped, f"struct<v:{spark_type}>").getField("v")
