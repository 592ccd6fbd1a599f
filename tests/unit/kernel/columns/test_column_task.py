"""When a batch over columns ends early or is not tried at all, and what becomes of its errors.

Exercises ``window_aggregate_columns`` and ``layers.bulk``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest

import penstock as ps
from penstock.errors import StreamsError
from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.column_executor import ColumnExecutor
from penstock.kernel.columns.column_task import ColumnTask, _together
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.form_choice import FormChoice
from penstock.kernel.columns.planner import ColumnPlan
from penstock.kernel.operators.topics import source_columns
from penstock.kernel.raw_columns import RawColumns
from penstock.testing import TopologyTestDriver
from tests.properties.cut_runs import CutRun

if TYPE_CHECKING:
    from penstock.kernel.record_queue import RecordQueue


def run_of_least() -> CutRun:
    """A task whose store cannot hold the least of no numbers: columns find out at the end."""
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    grouped.aggregate(ps.min_(ps.col("n")), materialized="least", value="json")
    graph = builder.build().graph
    return CutRun(graph, extractor="FailOnInvalidTimestamp", vectorize="strict")


def columns(values: Sequence[bytes]) -> RawColumns:
    return RawColumns("in", 0, range(len(values)), range(len(values)), [b"k"] * len(values), values)


def test_stop_is_asked_after_a_first_small_piece_and_between_pieces() -> None:
    """A slow function shows in the first; the others are large, since each costs a little."""
    run, asked = run_of_least(), []

    def stop() -> bool:
        asked.append(len(asked))
        return len(asked) == 3

    given = [("in", columns([b'{"n":1}'] * 20_000))]
    assert run.task.run_batch(given, stop=stop) == {"in": 10_500}
    assert run.task.columns is not None
    assert run.task.columns.batches == 1


def test_functions_of_the_user_begin_with_smaller_pieces() -> None:
    """They may be slow; each piece is twice as large as the one before."""
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="json").map_values(lambda value: {"m": value["n"]}).to(
        "out", value="json"
    )
    run = CutRun(builder.build().graph, extractor="FailOnInvalidTimestamp", vectorize="strict")
    given = [("in", columns([b'{"n":1}'] * 20_000))]
    assert run.task.run_batch(given, stop=lambda: True) == {"in": 16}
    stop = iter([False, False, True]).__next__
    assert run.task.run_batch(given, stop=stop) == {"in": 16 + 32 + 64}
    assert run.task.run_batch(given, stop=lambda: False) == {"in": 20_000}


def test_a_batch_that_fits_into_one_piece_is_not_cut() -> None:
    """It would be asked about when all is done."""
    given = [("in", columns([b'{"n":1}'] * 500))]
    assert run_of_least().task.run_batch(given, stop=lambda: True) == {"in": 500}


def test_a_batch_given_up_too_late_lets_the_next_one_run_by_record() -> None:
    """Else every batch would use up its time over columns and then do a single record."""
    run, given = run_of_least(), [("in", columns([b"{}"] * 300))]
    tried = run.task.columns
    assert tried is not None
    assert run.task.run_batch(given, stop=lambda: True) == {"in": 1}
    assert tried.reasons.total() == 1
    assert run.task.run_batch(given, stop=iter([False] * 20 + [True] * 9).__next__) == {"in": 176}
    assert tried.reasons.total() == 1
    run.task.run_batch(given)
    assert tried.reasons.total() == 2


class Faulty(ColumnExecutor[Any]):
    """A column form with a fault in it, as a programmer of this library would make it."""

    def process(self, batch: Batch, effects: Effects) -> None:
        batch.values.values()[len(batch)]


def run_of_counts(vectorize: str, *, is_faulty: bool) -> CutRun:
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="json").filter(ps.col("n") > 1).to("out")
    run = CutRun(builder.build().graph, extractor="FailOnInvalidTimestamp", vectorize=vectorize)
    assert run.task.columns is not None
    for source in run.task.columns.plan.sources.values():
        source.children += [Faulty(source.node, run.task)] if is_faulty else []
    return run


NUMBERS = [("in", columns([b'{"n":1}', b'{"n":2}']))]


def test_a_fault_in_the_column_path_is_raised_by_a_strict_task() -> None:
    """A test must not pass because record at a time is right."""
    run = run_of_counts("strict", is_faulty=True)
    with pytest.raises(IndexError):
        run.task.run_batch(NUMBERS)


def test_a_fault_in_the_column_path_is_a_warning_and_a_count_elsewhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The batch runs record at a time, the log tells about it once, and every batch counts."""
    run = run_of_counts("on", is_faulty=True)
    tried = run.task.columns
    assert tried is not None
    with caplog.at_level(logging.WARNING, "penstock"):
        assert [run.task.run_batch(NUMBERS) for _ in range(2)] == [{"in": 2}] * 2
    assert [each.message for each in caplog.records if "column path" in each.message][1:] == []
    assert "please report it: IndexError at test_column_task.py" in caplog.text
    ((fault, count),) = tried.take_errors().items()
    line = Faulty.process.__code__.co_firstlineno + 1
    assert fault == f"IndexError at test_column_task.py:{line}"
    assert (count, tried.batches, tried.take_errors()) == (2, 0, {})
    assert [value for _, _, value, *_ in run.sent] == [b'{"n":2}'] * 2


def test_an_error_of_an_expression_or_of_data_is_no_fault() -> None:
    """Record at a time knows which record it is, and asks the handlers."""
    run = run_of_counts("strict", is_faulty=False)
    tried = run.task.columns
    assert tried is not None
    assert run.task.run_batch([("in", columns([b'{"n":"x"}', b'{"n":2}']))]) == {"in": 2}
    assert run.task.run_batch([("in", columns([b"no json", b'{"n":3}']))]) == {"in": 2}
    assert dict(tried.reasons) == {"an expression raised TypeError": 1}
    assert (tried.take_errors(), tried.batches) == ({}, 1)
    out = [value for topic, _, value, *_ in run.sent if topic == "out"]
    assert out == [b'{"n":2}', b'{"n":3}']


def test_a_negative_timestamp_is_left_to_its_extractor() -> None:
    """It fails the task or skips the record, which columns do not decide."""
    run = run_of_counts("strict", is_faulty=False)
    numbers = [b'{"n":2}', b'{"n":3}']
    given = RawColumns("in", 0, range(2), [5, -1], [b"k", b"k"], numbers)
    with pytest.raises(StreamsError, match="negative"):
        run.task.run_batch([("in", given)])
    assert run.task.columns is not None
    assert dict(run.task.columns.reasons) == {"a record has a negative timestamp": 1}


def grouped(builder: ps.StreamsBuilder) -> Any:
    return builder.stream("in", key="string", value="json").group_by_key()


def windowed(builder: ps.StreamsBuilder) -> Any:
    return grouped(builder).windowed_by(ps.TimeWindows.of_size_with_no_grace("10s"))


def joined(builder: ps.StreamsBuilder) -> Any:
    rows = builder.table("rows", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    return stream.join(rows, ps.left).to("out", value="json")


@pytest.mark.parametrize(
    ("build", "topic"),
    [
        (lambda b: grouped(b).count("kept"), "in"),
        (lambda b: windowed(b).count("kept"), "in"),
        (lambda b: b.table("in", materialized="kept", key="string", value="json"), "in"),
        (joined, "in"),
    ],
    ids=["aggregate", "window", "table", "join"],
)
def test_changes_that_a_cache_has_not_passed_on_keep_a_batch_from_columns(
    build: Any, topic: str
) -> None:
    """Columns read what lies behind the cache, and a cache sends what it holds first."""
    builder = ps.StreamsBuilder()
    build(builder)
    run = CutRun(
        builder.build().graph, extractor="FailOnInvalidTimestamp", cache_bytes=1_000_000,
        vectorize="strict",
    )  # fmt: skip
    tried = run.task.columns
    assert tried is not None
    held = "rows" if build is joined else topic
    given = columns([b'{"n":1}'])
    run.task.add_records(held, [given.record(0)._replace(topic=held)])
    run.task.process_all()
    run.task.run_batch([(topic, given)])
    assert dict(tried.reasons) == {"its cache holds changes that were not passed on yet": 1}
    run.task.run_batch([(topic, given)])
    assert tried.batches == 1


def test_skipped_and_older_records_do_not_move_the_clocks() -> None:
    """Neither that of the task nor that of the partition goes back, or on with a skipped record."""
    run, good = run_of_counts("strict", is_faulty=False), b'{"n":2}'
    for times, values in (([5, 9], [good, b"no json"]), ([3, 4], [good, good])):
        given = RawColumns("in", 0, range(2), times, [b"k"] * 2, values)
        assert run.task.run_batch([("in", given)]) == {"in": 2}
        clocks = run.task.clocks()
        assert (clocks["stream_time"], clocks["partitions"]) == (5, {"in": 5})
    assert run.task.columns is not None
    assert run.task.columns.batches == 2


class Queues:
    """What ``_together`` asks of a source: who reads it, and what that needs to know."""

    def __init__(self, *, hides_order: bool, is_internal: bool, tells_origins: bool) -> None:
        child = ColumnExecutor[Any](cast("Any", None), cast("Any", None))
        child.hides_order = hides_order
        self.children = [child]
        self.is_internal = is_internal
        self.tells_origins = tells_origins


def part(topic: str, offset: int, *times: int, headers: Any = None) -> RawColumns:
    keys = [f"{topic}{time}".encode() for time in times]
    offsets = range(offset, offset + len(times))
    return RawColumns(topic, 0, offsets, [*times], keys, keys, headers)


@pytest.mark.parametrize(
    ("hides_order", "is_internal", "has_headers", "is_merged"),
    [
        (True, True, False, False),
        (False, True, False, True),
        (True, False, False, True),
        (True, True, True, True),
    ],
)
def test_queues_of_one_source_are_merged_by_time_where_somebody_could_tell(
    *, hides_order: bool, is_internal: bool, has_headers: bool, is_merged: bool
) -> None:
    """Equal times come in the order of the queues."""
    source = Queues(hides_order=hides_order, is_internal=is_internal, tells_origins=False)
    header = [(("h", b"1"),)] * 2 if has_headers else None
    whole = _together(cast("Any", source), [part("t", 0, 1, 5), part("t", 7, 1, 3, headers=header)])
    merged = ([1, 1, 3, 5], [b"t1", b"t1", b"t3", b"t5"])
    found = [int(time) for time in whole.timestamps], [*whole.keys]
    assert found == (merged if is_merged else ([1, 5, 1, 3], [b"t1", b"t5", b"t1", b"t3"]))
    assert [*whole.values] == [*whole.keys]
    assert len(whole) == 4
    if has_headers:
        assert [len(each) for each in whole.headers or ()] == [0, 1, 1, 0]
    else:
        assert whole.headers is None


def test_places_of_records_are_kept_only_if_all_are_of_one_topic() -> None:
    source: Any = Queues(hides_order=False, is_internal=True, tells_origins=True)
    whole = _together(source, [part("t", 0, 1, 5), part("t", 7, 2)])
    assert [*whole.offsets] == [0, 7, 1]
    with pytest.raises(NotProvenError, match="several topics"):
        _together(source, [part("t", 0, 1), part("other", 0, 2)])
    source.tells_origins = False
    assert len(_together(source, [part("t", 0, 1), part("other", 0, 2)])) == 2
    only = part("t", 0, 1)
    assert _together(source, [only]) is only


@pytest.mark.parametrize("engine", ["records", "columns"])
@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_what_a_piece_has_seen_holds_for_the_next_one(
    size: int, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stream time closes windows, and batches before this one count, too."""
    monkeypatch.setattr(source_columns, "_PIECE", size)
    builder = ps.StreamsBuilder()
    windowed(builder).count("kept").to_stream(ps.key["start"]).to("out", key="json", value="long")
    rows = [(0, 1), (25_000, 2), (3_000, 3), (29_999, 4), (19_999, 5), (25_000, 6)]
    with TopologyTestDriver(builder.build(), engine=engine) as driver:
        driver.pipe_batch({"in": [("k", {"n": n}, time) for time, n in rows]})
        driver.pipe_batch({"in": [("k", {"n": 7}, 19_999), ("k", {"n": 8}, 30_000)]})
        assert driver.read_key_values("out") == [(0, 1), (20_000, 3), (30_000, 1)]
        assert [*driver.dropped_records.values()] == [3]
        assert all(batch.ran_over_columns for batch in driver.batches)


@pytest.mark.parametrize("skipped", [0, 1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_last_record_is_the_last_one_that_was_not_skipped(length: int, skipped: int) -> None:
    """A flush after the batch works on it; there is none if all were skipped."""
    records, effects = columns([b"v"] * length), Effects()
    for place in range(max(length - skipped, 0), length):
        effects.skip(records.record(place), lambda: None)
    task = ColumnTask(ColumnPlan(), choice=FormChoice(1))
    last = task.last_record([(cast("RecordQueue", None), records)], effects)
    expected = records.record(length - skipped - 1) if skipped < length else None
    assert last == (None if expected is None else (None, expected))


def test_the_last_record_of_several_inputs_is_the_newest() -> None:
    old = columns([b"a"] * 3)
    task, queue = ColumnTask(ColumnPlan(), choice=FormChoice(1)), cast("RecordQueue", None)
    for times, expected in (((0, 9), 9), ((0, 1), None)):
        new = RawColumns("new", 0, range(2), times, [b"k"] * 2, [b"b"] * 2)
        last = task.last_record([(queue, old), (queue, new)], Effects())
        assert last == (queue, old.record(2) if expected is None else new.record(1))
