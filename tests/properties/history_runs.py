"""Runs topologies over history in this process, and shows what came out as the other runs do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import penstock as ps
from penstock import ValueAndTimestamp
from penstock.config import StreamsConfig
from penstock.model.windows.windowed import Window, Windowed
from penstock.runtime.history.rows import CHANGELOG, CLOCKS
from penstock.runtime.history.store_rows import READABLE, WINDOWED, StoreSerdes
from penstock.runtime.local.history import HistoryRecord, LocalHistory, run_history
from penstock.runtime.local.outbox import ProducedRecord
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.backfill.clock_handover import live_clocks
from penstock.state.spec import StoreKind
from penstock.testing.strategies import Event
from penstock.testing.topic_serdes import TopicSerdes
from tests.properties.runs import Contents, Written

CONFIG = {"application.id": "app", "statestore.cache.max.bytes": 0}


def over_history(
    topology: ps.Topology,
    events: Sequence[Event],
    *,
    partitions: int = 1,
    with_offsets: bool = False,
    logs_changes: bool = False,
) -> LocalHistory:
    """Runs a topology over events; with offsets, the order in each topic is that of the events."""
    serdes = TopicSerdes(topology.graph, task_settings(StreamsConfig(CONFIG)))
    records = [
        _record(serdes, event, number if with_offsets else None)
        for number, event in enumerate(events)
    ]
    return run_history(
        topology.graph, CONFIG, records, partitions=partitions, logs_changes=logs_changes
    )


def handed_over(topology: ps.Topology, history: LocalHistory) -> tuple[list[ProducedRecord], Any]:
    """Gives what a backfill hands to an application: its changelogs, and the clocks of its task.

    In this process one task has all sub-topologies, so it gets the clocks of all of them.
    """
    settings = task_settings(StreamsConfig(CONFIG))
    rows = sorted(history.marked(CHANGELOG), key=lambda row: row["seq"])
    changes = [
        ProducedRecord(
            settings.changelog_topic(row["name"]), row["key"], row["value"], row["timestamp"], (), 0
        )
        for row in rows
    ]
    clocks: dict[str, Any] = {}
    for row in history.marked(CLOCKS):
        for name, value in live_clocks(row["value"], topology.graph, "app").items():
            clocks[name] = _both(clocks[name], value) if name in clocks else value
    return changes, clocks


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, int):
        return max(one, other)
    return {**one, **other} if isinstance(one, dict) else [*one, *other]


def _record(serdes: TopicSerdes, event: Event, offset: int | None) -> HistoryRecord:
    key, value = serdes.of_input(event.topic)
    return HistoryRecord(
        event.topic, key.serialize(event.topic, event.key),
        value.serialize(event.topic, event.value), event.timestamp, offset=offset,
    )  # fmt: skip


def by_key(topology: ps.Topology, history: LocalHistory) -> dict[Any, list[Written]]:
    """Gives all records of each key in order."""
    serdes = TopicSerdes(topology.graph, task_settings(StreamsConfig(CONFIG)))
    found: dict[Any, list[Written]] = {}
    for topic in history.topics():
        if topic in topology.graph.internal_topics:
            continue
        key, value = serdes.of_output(topic)
        for row in history.rows(topic):
            written = Written(
                topic, key.deserialize(topic, row["key"]), value.deserialize(topic, row["value"]),
                row["timestamp"],
            )  # fmt: skip
            found.setdefault((topic, written.key), []).append(written)
    return found


def contents(topology: ps.Topology, history: LocalHistory, newest: int) -> Contents:
    """Gives the rows of stores, but for windows past their retention, which may linger."""
    settings = task_settings(StreamsConfig(CONFIG))
    stores = {name: spec for name, spec in topology.graph.stores.items() if spec.kind in READABLE}
    return {
        name: _in_order(
            entry
            for row in history.store_rows(name)
            for entry in [_entry(StoreSerdes.of(spec, settings), spec.kind, row)]
            if spec.kind not in WINDOWED or _is_live(spec, entry[0], newest)
        )
        for name, spec in stores.items()
    }


def _entry(serdes: StoreSerdes, kind: StoreKind, row: dict[str, Any]) -> tuple[Any, Any]:
    key = serdes.key.deserialize(serdes.topic, row["key"])
    value = serdes.value.deserialize(serdes.topic, row["value"])
    if kind in WINDOWED:
        key = Windowed(key, Window(row["at"], row["tie"]))
    if kind in (StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.TIMESTAMPED_WINDOW):
        value = ValueAndTimestamp(value, row["timestamp"])
    return key, value


def _is_live(spec: Any, key: Windowed[Any], newest: int) -> bool:
    edge = key.window.end if spec.kind is StoreKind.SESSION else key.window.start
    return edge > newest - spec.retention_ms


def readable(topology: ps.Topology, stores: Contents) -> Contents:
    """Gives the stores of another run that have rows of the program."""
    kinds = {name: spec.kind for name, spec in topology.graph.stores.items()}
    return {name: _in_order(rows) for name, rows in stores.items() if kinds[name] in READABLE}


def _in_order(entries: Iterable[Any]) -> list[Any]:
    return sorted(entries, key=repr)
