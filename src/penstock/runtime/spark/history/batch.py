"""``run_batch``: a topology as a transformation of DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.config import (
    APPLICATION_ID,
    CACHE_MAX_BYTES,
    CACHE_MAX_BYTES_BUFFERING,
    StreamsConfig,
)
from penstock.errors import InvalidArgumentError
from penstock.kernel.serdes import required_serde
from penstock.model.former_names import one_spelling
from penstock.model.site import caller_site
from penstock.runtime.history.passes import (
    PassPlan,
    looped_topics,
    plan_passes,
    with_topics,
    written_input,
)
from penstock.runtime.history.task import Work
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.history.inputs import BatchInput, TopicSerdes, records
from penstock.runtime.spark.history.passes import Passes
from penstock.runtime.spark.history.result import BatchResult
from penstock.runtime.spark.spark_version import require_spark
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source
from penstock.topology.topology import Topology, checked_topology
from penstock.topology.validate import nearest

#: How many partitions topics have, if nothing is said about it.
PARTITIONS = 8


@one_spelling
def run_batch(
    topology: Topology,
    inputs: Mapping[str, DataFrame | BatchInput],
    spark: SparkSession,
    *,
    config: Mapping[str, Any] | None = None,
    num_partitions: int | Mapping[str, int] = PARTITIONS,
    wall_clock: datetime | int = 0,
    outputs: Iterable[str] | None = None,
    stores: Iterable[str] | None = None,
) -> BatchResult:
    """Run a topology over history, on Spark's own data path.

    The outputs and stores are those of ``TopologyTestDriver`` for the same records in order of
    time, or in the order of offsets or arrival if the inputs have these. The driver has as many
    partitions.

    Args:
        topology: What to run.
        inputs: For each source topic its history: a DataFrame with the columns ``key``, ``value``
            and ``timestamp``, or a ``BatchInput`` that says which columns these are.
        spark: The session, which may be one of Spark Connect.
        config: Settings as for ``KafkaStreams``; ``application.id`` may be left out. The record
            cache is off unless ``statestore.cache.max.bytes`` is set: every change is a result.
        num_partitions: How many partitions topics have: one number, or a number by topic.
        wall_clock: The time that processors see: a datetime, or milliseconds.
        outputs: The topics that are wanted; by default all that the topology writes.
        stores: The stores that are wanted; by default all.
    """
    require_spark("run_batch", "4.1")
    settings = {APPLICATION_ID.name: "penstock-batch", **(config or {})}
    if not {CACHE_MAX_BYTES.name, CACHE_MAX_BYTES_BUFFERING.name} & settings.keys():
        settings[CACHE_MAX_BYTES.name] = 0
    given = {topic: BatchInput.of(each) for topic, each in inputs.items()}
    graph = checked_topology(topology).graph
    plan = _plan(graph, given, num_partitions)
    now = wall_clock if isinstance(wall_clock, int) else int(wall_clock.timestamp() * 1000)
    sizes = {} if isinstance(num_partitions, int) else num_partitions
    return plan_batch(
        plan, given, settings, sizes=sizes, other_size=_size("", num_partitions), clock_ms=now,
        outputs=None if outputs is None else frozenset(outputs),
        stores=None if stores is None else frozenset(stores),
    )  # fmt: skip


def plan_batch(
    plan: PassPlan,
    inputs: Mapping[str, BatchInput],
    config: Mapping[str, Any],
    *,
    sizes: Mapping[str, int],
    other_size: int,
    clock_ms: int,
    outputs: frozenset[str] | None = None,
    stores: frozenset[str] | None = None,
    logs_changes: bool = False,
) -> BatchResult:
    """Return the result of planned passes.

    ``sizes`` are the partition counts of output topics; ``other_size`` is that of all others.
    """
    settings = task_settings(StreamsConfig(config), emit_interval_ms=0)
    with_offsets = frozenset(topic for topic, each in inputs.items() if each.offset is not None)
    works = tuple(
        Work(
            plan.graph, config, each, plan.written, with_offsets,
            {**sizes, **plan.partitions}, other_size,
            clock_ms, outputs, stores, logs_changes, tracks_ties=plan.feeds_itself,
        )
        for each in plan.passes
    )  # fmt: skip
    sources = _sources(plan.graph)
    given = {}
    for topic in plan.input_topics:
        source = sources[topic]
        what, defaults = f"source node {source.name!r}", settings.defaults
        serdes = TopicSerdes(
            topic,
            required_serde(source.key_serde, defaults, "key", what, source.site),
            required_serde(source.value_serde, defaults, "value", what, source.site),
            plan.partitions[topic],
        )
        given[topic] = records(inputs[topic], serdes)
    with_arrival = frozenset(topic for topic, each in inputs.items() if each.arrival is not None)
    return BatchResult(Passes(plan, works, given, with_arrival), settings)


def _plan(
    graph: Graph, inputs: Mapping[str, BatchInput], partitions: int | Mapping[str, int]
) -> PassPlan:
    graph = with_topics(graph, inputs)
    written, read = looped_topics(graph), _sources(graph)
    for topic in inputs:
        if topic in written:
            raise written_input(topic)
        if topic not in read:
            raise InvalidArgumentError(
                "unknown-topic",
                f"no source of the topology reads topic {topic!r}{nearest(topic, read)}",
                fix=f"give the history of: {', '.join(sorted(set(read) - written))}",
                at=caller_site(),
            )
    plan = plan_passes(graph, {topic: _size(topic, partitions) for topic in read}, inputs)
    for topic in plan.input_topics:
        if topic not in inputs:
            raise InvalidArgumentError(
                "missing-input",
                f"the topology reads topic {topic!r}, whose history is not given",
                fix=f"give inputs={{…, {topic!r}: frame}}; an empty DataFrame is a history, too",
                at=caller_site(),
            )
        inputs[topic].check(topic)
    return plan


def _size(topic: str, partitions: int | Mapping[str, int]) -> int:
    size = partitions if isinstance(partitions, int) else partitions.get(topic, PARTITIONS)
    if size < 1:
        raise InvalidArgumentError(
            "bad-partition-count",
            f"topic {topic!r} cannot have {size} partitions",
            fix="give a partition count of 1 or more",
            at=caller_site(),
        )
    return size


def _sources(graph: Graph) -> dict[str, Source]:
    """Return the source of every topic that is read, except for repartition topics."""
    nodes = [node for node in graph.nodes.values() if isinstance(node, Source)]
    return {
        topic: node for node in nodes for topic in node.topics if topic not in graph.internal_topics
    }
