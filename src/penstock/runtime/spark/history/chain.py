"""Topologies that read what others write, over history: each runs once, those that write first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from penstock.model.record import Headers
from penstock.runtime.spark.history.batch import run_batch
from penstock.runtime.spark.history.header_text import as_headers
from penstock.runtime.spark.history.inputs import HEADERS, BatchInput, TopicSerdes, records
from penstock.runtime.spark.history.result import BatchResult
from penstock.topology.nodes import Sink, Source
from penstock.topology.topology import Topology

#: The records of a topic: ``writer`` and what follows order those that arrived at the same time.
_ORDER = ("at", "writer", "tie", "source", "number", "key", "value")
_GIVEN = f"key binary, value binary, timestamp long, headers {HEADERS}, number long"


@dataclass(frozen=True)
class ChainLink:
    """One topology of a chain, with its settings."""

    id: str
    topology: Topology
    config: Mapping[str, Any]

    @property
    def reads(self) -> list[str]:
        """The topics that it reads, without its internal ones."""
        graph = self.topology.graph
        sources = [node for node in graph.nodes.values() if isinstance(node, Source)]
        topics = dict.fromkeys(topic for node in sources for topic in node.topics)
        return [topic for topic in topics if topic not in graph.internal_topics]

    @property
    def writes(self) -> frozenset[str]:
        """The topics that it writes."""
        sinks = (node for node in self.topology.graph.nodes.values() if isinstance(node, Sink))
        return frozenset(sink.topic for sink in sinks if sink.topic is not None)


class GivenRecord(NamedTuple):
    """A record that belongs to the history of a topic, beside its DataFrame."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()


@dataclass(frozen=True)
class ChainTopics:
    """Where the records of topics come from: DataFrames, and records that a program gave."""

    histories: Mapping[str, BatchInput]
    given: Mapping[str, Sequence[GivenRecord]]
    #: How a topic is written, and how many partitions it has.
    serdes: Callable[[str], TopicSerdes]


class Chain:
    """The topics of chained topologies, computed when somebody asks for them.

    A topic is computed once, and kept by Spark until ``unpersist``.
    """

    def __init__(
        self, links: Sequence[ChainLink], topics: ChainTopics, spark: SparkSession, clock_ms: int
    ) -> None:
        self._links = links
        self._sources = topics
        self._spark = spark
        self._clock_ms = clock_ms
        self._results: dict[str, BatchResult] = {}
        self._topics: dict[str, DataFrame] = {}

    def unpersist(self) -> None:
        """Let Spark forget what it has kept."""
        for frame in self._topics.values():
            frame.unpersist()
        for result in self._results.values():
            result.unpersist()

    def topic(self, topic: str) -> DataFrame:
        """Return the records of a topic, whoever wrote them.

        ``task`` is the partition and ``seq`` the order in it; ``at`` is when a record arrived.
        """
        if topic not in self._topics:
            sources = self._sources
            parts = []
            if topic in sources.histories:
                parts.append(_placed(sources.histories[topic], sources.serdes(topic)))
            if topic in sources.given:
                parts.append(_placed(self._given(topic), sources.serdes(topic)))
            parts += [self._written(link, topic) for link in self._links if topic in link.writes]
            numbered = [
                part.withColumn("writer", sf.lit(number)) for number, part in enumerate(parts)
            ]
            whole = reduce(DataFrame.unionByName, numbered)
            place = sf.row_number().over(Window.partitionBy("task").orderBy(*_ORDER))
            self._topics[topic] = whole.withColumn("seq", place.cast("long")).persist()
        return self._topics[topic]

    def changes(self, topic: str, *, with_deletions: bool) -> DataFrame:
        """Return ``key``, ``value`` and ``timestamp`` of the records of a topic."""
        frame = self.topic(topic)
        chosen = frame if with_deletions else frame.where(sf.col("value").isNotNull())
        return chosen.select("key", "value", sf.timestamp_millis("timestamp").alias("timestamp"))

    def newest(self, topic: str) -> DataFrame:
        """Return the same of the last record of each key, without keys that were deleted."""
        last = sf.max_by(sf.struct("value", "timestamp"), "seq").alias("last")
        found = self.topic(topic).groupBy("task", "key").agg(last).select("key", "last.*")
        return found.where(sf.col("value").isNotNull()).select(
            "key", "value", sf.timestamp_millis("timestamp").alias("timestamp")
        )

    def output(self, link: ChainLink, topic: str, *, with_deletions: bool) -> DataFrame:
        """Return ``key`` and ``value`` of what a further topology writes, in order."""
        frame = self._written(link, topic)
        if not with_deletions:
            frame = frame.where(sf.col("value").isNotNull())
        ordered = frame.orderBy("at", "task", "tie", "source", "number")
        return ordered.select("key", "value")

    def _given(self, topic: str) -> BatchInput:
        rows = [
            (each.key, each.value, each.timestamp, list(each.headers), number)
            for number, each in enumerate(self._sources.given[topic])
        ]
        frame = self._spark.createDataFrame(rows, _GIVEN)
        return BatchInput(frame, offset="number", headers="headers")

    def _written(self, link: ChainLink, topic: str) -> DataFrame:
        return self._result(link).raw(topic).select(
            sf.col("partition").alias("task"), sf.col("order.at").alias("at"),
            sf.unix_millis("timestamp").alias("timestamp"), "key", "value", "headers",
            sf.col("order.tie").alias("tie"), sf.col("order.source").cast("long").alias("source"),
            sf.col("order.seq").alias("number"),
        )  # fmt: skip

    def _result(self, link: ChainLink) -> BatchResult:
        if link.id not in self._results:
            inputs = {
                topic: BatchInput(
                    self.topic(topic), partition="task", offset="seq", headers="headers",
                    arrival="at",
                )
                for topic in link.reads
            }  # fmt: skip
            sizes = {
                topic: self._sources.serdes(topic).partitions for topic in (*inputs, *link.writes)
            }
            self._results[link.id] = run_batch(
                link.topology, inputs, self._spark, config=link.config, num_partitions=sizes,
                wall_clock=self._clock_ms, stores=(),
            )  # fmt: skip
        return self._results[link.id]


def _placed(given: BatchInput, serdes: TopicSerdes) -> DataFrame:
    """Return a history with the time at which its records arrived, as far as it can be known."""
    found = records(given, serdes)
    at = sf.coalesce("at", "timestamp")
    if given.offset is not None:
        so_far = Window.partitionBy("task").orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
        at = sf.coalesce("at", sf.max("timestamp").over(so_far))
    zero = sf.lit(0).cast("long")
    headers = as_headers(sf.col("headers"))
    placed = {"at": at, "tie": zero, "source": zero, "number": sf.col("seq"), "headers": headers}
    return found.withColumns(placed).drop("seq")
