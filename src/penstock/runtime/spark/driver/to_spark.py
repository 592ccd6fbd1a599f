"""``to_spark`` on the driver: committed rows as a typed DataFrame, handed to the function.

Tasks write the rows, in their transactions, to a topic of the node. Before the function is called,
the range of its rows is written to the batch log. So after a crash, it gets the same rows with the
same batch id again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import SparkSession

from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.executors.spark_executors import is_local, local_cores
from penstock.runtime.spark.driver.row_ranges import RowRange, RowRanges
from penstock.runtime.spark.exchange.batch_log import BatchLog
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.typed_columns import typed_columns
from penstock.runtime.spark.worker.reader import RangeReader
from penstock.topology.graph import Graph
from penstock.topology.nodes.topics.to_lake import DriverSink
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
        self._sinks = spark_sinks(application.plan.graph)
        self._rows = RowRanges(application, batch_log, admin, self._sinks)
        if self._sinks:
            check_cores(spark, self._sinks[0], "to_spark")

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
            for rows in self._rows.due(sink, number, written):
                self._hand_over(sink, rows)

    def _hand_over(self, sink: ToSpark, rows: RowRange) -> None:
        ranges = list(rows.ranges.items())
        each = self._spark.sparkContext.parallelize(ranges, max(len(ranges), 1))
        read = each.mapPartitions(_ReadRows(self._application.restore_consumer))
        ordered = self._spark.createDataFrame(read, _ROWS).orderBy("task", "sequence")
        # The rows are read once, whatever the function does with them.
        frame = ordered.select(*typed_columns(sink)).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            sink.fn(frame, rows.batch)
        except Exception as error:
            raise StreamsError(
                "to-spark",
                f"the function of {sink.name!r} raised {error!r} in batch {rows.batch}",
                "the same rows come again with the same batch id after a restart",
                sink.site,
            ) from error
        finally:
            frame.unpersist()
        self._rows.done(sink, rows)


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


def check_cores(spark: SparkSession, sink: DriverSink, what: str) -> None:
    """Refuse a session with one core: the stream thread has it, and no other job could ever run."""
    master = spark.sparkContext.master
    if is_local(master) and local_cores(spark.sparkContext) < 2:
        raise StreamsError(
            "no-core-left",
            f"node {sink.name!r}: {what} runs Spark jobs, and the stream thread has the only"
            f" core of {master!r}",
            fix="give spark.master at least two cores, such as local[2]",
            at=sink.site,
        )
