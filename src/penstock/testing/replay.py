"""Run recorded input through a topology, and return its output as plain values.

``penstock capture`` writes tests that call it, and ``penstock diff`` compares two programs with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.kernel.settings import TaskSettings
from penstock.model.windows.windowed import Windowed
from penstock.runtime.local.outbox import InputRecord, ProducedRecord
from penstock.runtime.settings import task_settings
from penstock.serde.base import Serde
from penstock.testing.driver import TopologyTestDriver
from penstock.testing.topic_serdes import Pair, TopicSerdes
from penstock.topology.nodes import Source
from penstock.topology.topology import Topology


class ReplayedRecord(NamedTuple):
    """A record of an output topic; key and value are what JSON can hold."""

    topic: str
    key: Any
    value: Any
    timestamp: int


def replay(
    topology: Topology,
    records: Iterable[tuple[Any, ...]],
    config: Mapping[str, Any] | None = None,
    partitions: Mapping[str, int] | None = None,
) -> list[ReplayedRecord]:
    """Return what a topology makes of recorded input, starting without state.

    The wall clock begins at the first record and follows the timestamps, so punctuation by wall
    clock runs as if the records arrived in time. Topics that the topology does not read are left
    out.

    Args:
        topology: What to run.
        records: For each record the topic, key, value, timestamp, headers and partition.
        config: Settings of the program.
        partitions: How many partitions the topics have; those that are not named have one.
    """
    known = [record for record in map(InputRecord._make, records) if _reads(topology, record.topic)]
    if not known:
        return []
    read = {topic: n for topic, n in (partitions or {}).items() if _reads(topology, topic)}
    now = known[0].timestamp
    with TopologyTestDriver(topology, config, now, num_partitions=read) as driver:
        for record in known:
            if record.timestamp > now:
                driver.advance_wall_clock_time(record.timestamp - now)
                now = record.timestamp
            partition = record.partition if record.topic in read else None
            driver.pipe_bytes(*record[:5], partition=partition)
        sent = [each for each in driver.outputs() if not driver.is_internal_topic(each.topic)]
    serdes = TopicSerdes(topology.graph, _settings(config))
    return [_plain_record(each, serdes) for each in sent]


def _settings(config: Mapping[str, Any] | None) -> TaskSettings:
    named = {APPLICATION_ID.name: "replay", **(config or {})}
    return task_settings(StreamsConfig(named), emit_interval_ms=0)


def _reads(topology: Topology, topic: str) -> bool:
    graph = topology.graph
    return any(
        topic in node.topics or (node.pattern is not None and node.pattern.fullmatch(topic))
        for node in graph.nodes.values()
        if isinstance(node, Source)
    )


def _plain_record(record: ProducedRecord, serdes: TopicSerdes) -> ReplayedRecord:
    pair: Pair = serdes.of_output(record.topic, strict=False)
    key, value = (
        _plain(serde, record, data)
        for serde, data in zip(pair, (record.key, record.value), strict=True)
    )
    return ReplayedRecord(record.topic, key, value, record.timestamp)


def _plain(serde: Serde[Any], record: ProducedRecord, data: bytes | None) -> Any:
    """Return a value that can be compared, printed and written into a test."""
    if data is None:
        return None
    try:
        found = serde.deserialize(record.topic, data, record.headers)
        if isinstance(found, Windowed):
            found = {"key": found.key, "start": found.start, "end": found.end}
        return orjson.loads(orjson.dumps(found, default=_member))
    except (TypeError, ValueError):
        return data.decode("utf-8", errors="backslashreplace")


def _member(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        # The order of a set is not the same in every process.
        return sorted(value, key=repr)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    return str(value)
