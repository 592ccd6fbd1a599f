"""``to_spark`` on the driver: committed rows as a typed DataFrame, handed to the function.

Tasks write the rows, in their transactions, to a topic of the node. Before the function is called,
the range of its rows is written to the batch log. So after a crash, it gets the same rows with the
same batch id again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col, concat, from_json, get_json_object, lit, timestamp_millis

from penstock.config import REPARTITION_PURGE_INTERVAL_MS, StreamsConfig
from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.executors.spark_executors import is_local, local_cores
from penstock.runtime.spark.driver.purge import Purge
from penstock.runtime.spark.exchange.batch_log import BatchLog, offset_rows, offsets_from
from penstock.runtime.spark.exchange.plan import to_spark_topic
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.worker.reader import RangeReader
from penstock.topology.graph import Graph
from penstock.topology.nodes.topics.to_spark import ToSpark

_ROWS = "task int, sequence long, timestamp long, key binary, value binary"


def spark_sinks(graph: Graph) -> list[ToSpark]:
    return [node for node in graph.nodes.values() if isinstance(node, ToSpark)]


class SparkSinks:
    """Calls the functions of all ``to_spark`` nodes after each cut that has rows for them."""

    def __init__(
        self, spark: SparkSession, application: Application, batch_log: BatchLog, admin: Admin
    ) -> None:
        self._spark = spark
        self._application = application
        self._log = batch_log
        self._admin = admin
        self._sinks = spark_sinks(application.plan.graph)
        if self._sinks:
            _check_cores(spark, self._sinks[0])
        config = StreamsConfig(application.config)
        self._purge = Purge(admin, config[REPARTITION_PURGE_INTERVAL_MS] / 1000)

    @property
    def has_any(self) -> bool:
        return bool(self._sinks)

    def call(self, number: int, written: Mapping[TopicPartition, int] | None) -> None:
        """Call the function of every node with its new rows; unfinished calls come first.

        Args:
            number: the cut whose rows these are.
            written: the next offset of every partition with rows; None if only Kafka knows it.
        """
        for sink in self._sinks:
            told = self._log.state.sinks.get(sink.name)
            if told is not None and not told["done"]:
                # The driver ended, or the function raised, before the call was complete.
                self._hand_over(sink, told)
            self._call(sink, number, None if told is None else written)

    def _call(
        self, sink: ToSpark, number: int, written: Mapping[TopicPartition, int] | None
    ) -> None:
        parts = self._parts(sink)
        told = self._log.state.sinks.get(sink.name)
        start = dict.fromkeys(parts, 0) | ({} if told is None else offsets_from(told["end"]))
        if written is None:
            # Up to the high watermark: a commit returns a moment before the broker shows its rows.
            ends = self._admin.end_offsets(parts)
        else:
            ends = {part: max(written.get(part, 0), start[part]) for part in parts}
        if all(ends[part] <= start[part] for part in parts):
            return
        told = {
            "batch": number, "start": offset_rows(start), "end": offset_rows(ends), "done": False,
        }  # fmt: skip
        self._log.note_sink(sink.name, told)
        self._hand_over(sink, told)

    def _hand_over(self, sink: ToSpark, told: Mapping[str, Any]) -> None:
        start, end = offsets_from(told["start"]), offsets_from(told["end"])
        ranges = [(part, (start.get(part, 0), at)) for part, at in end.items()]
        rows = self._spark.sparkContext.parallelize(ranges, max(len(ranges), 1))
        read = rows.mapPartitions(_ReadRows(self._application.restore_consumer))
        # The rows are read once, whatever the function does with them.
        frame = self._spark.createDataFrame(read, _ROWS).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            sink.fn(_typed(frame, sink), told["batch"])
        except Exception as error:
            raise StreamsError(
                "to-spark",
                f"the function of {sink.name!r} raised {error!r} in batch {told['batch']}",
                "the same rows come again with the same batch id after a restart",
                sink.site,
            ) from error
        finally:
            frame.unpersist()
        self._log.note_sink(sink.name, {**told, "done": True})
        if self._purge.is_due:
            self._purge.delete(end)

    def _parts(self, sink: ToSpark) -> list[TopicPartition]:
        plan = self._application.plan
        topic = to_spark_topic(self._application.id, sink.topic or "")
        tasks = next(
            plan.tasks(part.id) for part in plan.subtopologies.values() if sink.name in part.nodes
        )
        return [(topic, number) for number in range(tasks)]


class _ReadRows:
    """Reads ranges of a node's topic in a Spark task."""

    def __init__(self, consumer: Mapping[str, Any]) -> None:
        self._consumer = dict(consumer)

    def __call__(
        self, ranges: Iterable[tuple[TopicPartition, tuple[int, int]]]
    ) -> Iterator[tuple[Any, ...]]:
        wanted = {(t, n): (start, end) for (t, n), (start, end) in ranges if start < end}
        if not wanted:
            return
        reader = RangeReader(self._consumer)
        try:
            for records in reader.read(wanted).values():
                for record in records:
                    yield (
                        record.partition, record.offset, record.timestamp, record.key, record.value,
                    )  # fmt: skip
        finally:
            reader.close()


def _typed(rows: DataFrame, sink: ToSpark) -> DataFrame:
    key, value = col("key").cast("string"), col("value").cast("string")
    ordered = rows.orderBy("task", "sequence")
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


def _check_cores(spark: SparkSession, sink: ToSpark) -> None:
    """Refuse a session with one core: the stream thread has it, and no other job could ever run."""
    master = spark.sparkContext.master
    if is_local(master) and local_cores(spark.sparkContext) < 2:
        raise StreamsError(
            "no-core-left",
            f"node {sink.name!r}: to_spark runs Spark jobs, and the stream thread has the only"
            f" core of {master!r}",
            fix="give spark.master at least two cores, such as local[2]",
            at=sink.site,
        )
