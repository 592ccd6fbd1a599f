"""History at once makes what the same records make one after the other."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import TopologyTestDriver
from penstock.kernel.columns import column_task
from penstock.model.partitioning import partition_for
from penstock.runtime.history import task as history_task
from penstock.runtime.local.history import HistoryRecord, LocalHistory, run_history
from penstock.testing.strategies import Event, keys, streams
from penstock.topology.graph import Graph
from tests.properties.column_programs import BEHIND_A_CACHE, BUILDS, built, having, timed_windows
from tests.properties.column_programs import Build as ColumnBuild
from tests.properties.column_runs import grid_events
from tests.properties.history_runs import CONFIG, by_key, contents, over_history, readable
from tests.properties.runs import SOME, for_each, read_by, run
from tests.properties.topologies import ONE_TOPIC, TWO_TOPICS, Build

_HANDLERS = {
    "deserialization.exception.handler": "continue",
    "processing.exception.handler": "continue",
}
EVENTS = streams(topics=("in", "table"), key=keys(3, nulls=True))
IN_ORDER = streams(topics=("in", "table"), key=keys(6), max_late_s=0)


@for_each(ONE_TOPIC + TWO_TOPICS)
@SOME
@given(events=EVENTS)
def test_history_with_offsets_makes_what_single_records_make(
    build: Build, events: list[Event]
) -> None:
    """Late records come where their offsets put them, so they are late for the same windows."""
    events = read_by(build, events)
    expected, topology = run(build, events), build()
    history = over_history(topology, events, with_offsets=True)
    newest = max((event.timestamp for event in events), default=0)
    assert by_key(topology, history) == expected.by_key
    assert contents(topology, history, newest) == readable(topology, expected.stores)


@for_each(ONE_TOPIC + TWO_TOPICS)
@SOME
@given(events=IN_ORDER, partitions=st.integers(2, 3))
def test_history_of_several_partitions_makes_what_a_driver_with_as_many_makes(
    build: Build, events: list[Event], partitions: int
) -> None:
    """Every partition has a task, stores and a stream time of its own."""
    topology = build()
    events = _at_different_times(read_by(build, events))
    history = over_history(topology, events, partitions=partitions)
    sizes = dict.fromkeys({"in", *(event.topic for event in events)}, partitions)
    if build in TWO_TOPICS:
        sizes["table"] = partitions
    with TopologyTestDriver(build(), CONFIG, num_partitions=sizes) as driver:
        for event in events:
            driver.pipe_input(event.topic, event.key, event.value, event.timestamp)
        expected: dict[Any, list[Any]] = {}
        for record in driver.read_records("out"):
            row = (record.value, record.timestamp)
            expected.setdefault(("out", record.key), []).append(row)
    found = by_key(topology, history)
    assert {k: [(r.value, r.timestamp) for r in rows] for k, rows in found.items()} == expected


def _at_different_times(events: list[Event]) -> list[Event]:
    """Records of one millisecond have no order among partitions."""
    return [event._replace(timestamp=event.timestamp * 50 + n) for n, event in enumerate(events)]


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
def test_columns_change_nothing_of_history(
    build: ColumnBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over columns where that is proven, with inputs that alternate and records that are late."""
    ran = _count_column_batches(monkeypatch)
    monkeypatch.setattr(column_task, "_SHORT_RUN", 0)
    monkeypatch.setattr(history_task, "AT_ONCE", 30)
    graph = built(build).graph
    events = [*enumerate(grid_events(Random(build.__name__), 330, slowness=90))]
    records = [
        HistoryRecord(e.topic, e.key, e.value, e.timestamp, e.headers, offset=number)
        for number, e in events
    ]
    by_record = _run(graph, records, "off")
    assert not any(task.batches for task in ran)
    assert _shown(_run(graph, records, "strict")) == _shown(by_record)
    # The messages of a foreign-key join go through passes whose records have several causes.
    by_messages = build.__name__.startswith("foreign_")
    # A function that fails for a record lets its batch run by record; here each batch has such one.
    fails_often = build in (*BEHIND_A_CACHE, having, timed_windows)
    assert any(task.batches for task in ran) or by_messages or fails_often


def _count_column_batches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []
    plan = history_task.column_task

    def planned(*arguments: Any) -> Any:
        found = plan(*arguments)
        made.extend([] if found is None else [found])
        return found

    monkeypatch.setattr(history_task, "column_task", planned)
    return made


def _run(graph: Graph, records: list[HistoryRecord], vectorize: str) -> LocalHistory:
    placed = [replace_partition(each) for each in records]
    names = {topic for node in graph.nodes.values() for topic in getattr(node, "topics", ())}
    known = [each for each in placed if each.topic in names]
    config = {**CONFIG, "penstock.vectorize": vectorize, **_HANDLERS}
    return run_history(graph, config, known, partitions=2)


def replace_partition(record: HistoryRecord) -> HistoryRecord:
    partition = 0 if record.key is None else partition_for(record.key, 2)
    return record._replace(partition=partition)


def _shown(history: LocalHistory) -> Any:
    """The records of each key, and the rows of the stores."""
    records: dict[Any, list[Any]] = {}
    for topic in history.topics():
        for row in history.rows(topic):
            shown = (row["value"], row["timestamp"], row["headers"])
            # What different tasks send under one key has no order that columns keep.
            records.setdefault((topic, row["key"], row["source"]), []).append(shown)
    stores = [
        (row["name"], row["task"], row["key"], row["value"], row["timestamp"], row["at"])
        for name in history.plan.graph.stores
        for row in history.store_rows(name)
    ]
    return records, sorted(stores, key=repr)
