"""One task over history: ``penstock.runtime.history.task``, with rows and ``store_rows``."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.runtime.history import rows as kinds
from penstock.runtime.history import task as history_task
from penstock.runtime.history.passes import plan_passes
from penstock.runtime.history.rows import INPUT_SCHEMA, header_texts, output_batch, rows_of
from penstock.runtime.history.store_rows import READABLE
from penstock.runtime.history.task import Work, run_task
from penstock.state.spec import StoreKind

Table = list[dict[str, Any]]


def counting() -> Work:
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in", key=str, value=str).group_by_key()
    grouped.count("counts").to_stream().to("out", key=str, value=int)
    graph = builder.build().graph
    plan = plan_passes(graph, {"in": 2}, ["in"])
    config = {"application.id": "app", "statestore.cache.max.bytes": 0}
    return Work(
        graph, config, plan.passes[0], plan.written, frozenset({"in"}), plan.partitions, 2, 0,
        on_disk=False,
    )  # fmt: skip


def batches(*records: tuple[int, str, str]) -> list[pa.RecordBatch]:
    size = len(records)
    times = [time for time, _, _ in records]
    columns = {
        "task": [1] * size, "input": [0] * size, "at": times, "tie": [0] * size,
        "source": [0] * size, "seq": range(40, 40 + size), "timestamp": times,
        "key": [key.encode() for _, key, _ in records],
        "value": [value.encode() for _, _, value in records], "headers": [None] * size,
    }  # fmt: skip
    return [pa.RecordBatch.from_pydict(columns, schema=INPUT_SCHEMA)]


def run(work: Work, *records: tuple[int, str, str]) -> Table:
    return [row for each in run_task(work, 1, batches(*records)) for row in each.to_pylist()]


def of(kind: int, found: Table) -> Table:
    return [row for row in found if row["target"] == kind]


def test_a_task_returns_its_output_and_the_rows_of_its_stores() -> None:
    """Bytes are those that topics and stores have."""
    found = run(counting(), (1, "a", "x"), (2, "b", "x"), (3, "a", "x"))
    values = [int.from_bytes(row["value"]) for row in of(0, found)]
    assert values == [1, 1, 2]
    stored = {
        row["key"]: (row["value"][-1], row["timestamp"]) for row in of(kinds.STORE_ROW, found)
    }
    assert stored == {b"a": (2, 3), b"b": (1, 2)}


def test_a_task_tells_where_it_stands() -> None:
    """The clocks and the next offset are what an application has to continue with."""
    found = run(counting(), (1, "a", "x"), (9, "b", "x"))
    (clocks,) = of(kinds.CLOCKS, found)
    assert (clocks["name"], json.loads(clocks["value"])["stream_time"]) == ("0_1", 9)
    (position,) = of(kinds.POSITION, found)
    assert (position["name"], position["task"], position["seq"]) == ("in", 1, 42)


def test_changes_are_logged_if_that_is_asked_for() -> None:
    """Each key once, with the time of its last change."""
    assert of(kinds.CHANGELOG, run(counting(), (1, "a", "x"))) == []
    found = run(replace(counting(), logs_changes=True), (1, "a", "x"), (4, "a", "x"))
    (logged,) = of(kinds.CHANGELOG, found)
    assert (logged["name"], logged["key"], logged["timestamp"]) == ("counts", b"a", 4)


def test_dropped_records_are_counted() -> None:
    """By node and reason."""
    work = counting()
    negative = {**work.config, "default.timestamp.extractor": "LogAndSkipOnInvalidTimestamp"}
    (dropped,) = of(kinds.DROPPED, run(replace(work, config=negative), (-1, "a", "x")))
    assert (dropped["name"], dropped["seq"]) == ("KSTREAM-SOURCE-0000000000", 1)
    assert dropped["key"] == b"negative-timestamp"


def test_how_records_are_cut_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither how Spark cuts them, nor how the task puts them together."""
    records = [(number, "ab"[number % 2], "x") for number in range(20)]
    whole = run(counting(), *records)
    monkeypatch.setattr(history_task, "AT_ONCE", 3)
    for kind in (0, kinds.STORE_ROW):
        assert of(kind, run(counting(), *records)) == of(kind, whole)


def test_only_wanted_results_are_returned() -> None:
    """A store may be large, and a topic may not be asked for."""
    work = replace(counting(), outputs=frozenset(), stores=frozenset())
    found = run(work, (1, "a", "x"))
    assert {row["target"] for row in found} == {kinds.CLOCKS, kinds.POSITION}


def test_rows_come_back_as_they_were_given() -> None:
    """A record without headers has none."""
    batch = output_batch(target=[0, 0], headers=header_texts([(("h", b"1"),), ()]))
    table = pa.Table.from_batches([batch]).rename_columns({"target": "input"})
    rows = rows_of(table)
    assert rows.headers == [(("h", b"1"),), ()]
    assert len(rows) == 2


def test_buffers_of_operators_have_no_rows_of_the_program() -> None:
    """Their rows mean something only to their operator."""
    assert StoreKind.TIME_ORDERED_BUFFER not in READABLE
