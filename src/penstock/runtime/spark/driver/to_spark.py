"""``to_spark`` on the driver: the collected rows as a typed DataFrame, handed to the function."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, concat, from_json, get_json_object, lit, timestamp_millis

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.rows import FOR_SPARK
from penstock.topology.graph import Graph
from penstock.topology.nodes.to_spark import ToSpark


def spark_sinks(graph: Graph) -> list[ToSpark]:
    return [node for node in graph.nodes.values() if isinstance(node, ToSpark)]


def call_sinks(sinks: list[ToSpark], frame: DataFrame, batch: int) -> None:
    """Calls each function with its rows; an error names the line that asked for it."""
    for sink in sinks:
        rows = frame.filter((col("stage") == FOR_SPARK) & (col("topic") == sink.topic))
        try:
            sink.fn(_typed(rows, sink), batch)
        except Exception as error:
            raise StreamsError(
                "to-spark",
                f"the function of {sink.name!r} raised {error!r} in batch {batch}",
                "the batch runs again with the same id after a restart",
                sink.site,
            ) from error


def _typed(rows: DataFrame, sink: ToSpark) -> DataFrame:
    key, value = col("key").cast("string"), col("value").cast("string")
    ordered = rows.orderBy("subtopology", "task", "sequence")
    windowed = sink.key_type is None
    columns = [
        _as(get_json_object(key, "$.key"), "string").alias("key")
        if windowed
        else _as(key, sink.key_type).alias("key"),
        _as(value, sink.value_type).alias("value"),
        timestamp_millis(col("timestamp")).alias("timestamp"),
    ]
    if windowed:
        columns += [
            timestamp_millis(get_json_object(key, f"$.{name}").cast("bigint")).alias(name)
            for name in ("window_start", "window_end")
        ]
    return ordered.select(*columns)


def _as(text: Column, spark_type: str | None) -> Column:
    if spark_type is None:
        return text
    if spark_type == "string":
        # A JSON string is quoted; wrapping it lets Spark unquote it.
        return _unwrapped(text, "string")
    if "<" in spark_type:
        return from_json(text, spark_type)
    return _unwrapped(text, spark_type)


def _unwrapped(text: Column, spark_type: str) -> Column:
    wrapped = concat(lit('{"v":'), text, lit("}"))
    return from_json(wrapped, f"struct<v:{spark_type}>").getField("v")
