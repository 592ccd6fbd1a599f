"""Folding a grouped stream per time window."""

from typing import Any

import pytest

from penstock.model.change import Change
from penstock.model.time.duration import MAX_LONG
from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.definitions import TimeWindows, UnlimitedWindows
from penstock.topology.nodes import WindowAggregate
from tests.unit.kernel.single_node import (
    Forwarded,
    SingleNode,
    joined,
    window_store,
    windowed,
)

TUMBLING = TimeWindows.of_size_with_no_grace(10)


def start(
    windows: TimeWindows | UnlimitedWindows = TUMBLING,
    *,
    retention_ms: int = 1_000,
    emit_interval_ms: int = 0,
    fn: Any = joined,
    **options: Any,
) -> SingleNode:
    node = WindowAggregate(
        name="n", store="store", windows=windows, initializer=lambda: "", fn=fn, **options
    )
    size_ms = min(windows.size_ms, 2**40)
    store = window_store(size_ms, max(retention_ms, size_ms))
    return SingleNode(node, store, emit_interval_ms=emit_interval_ms)


def test_a_windows_end_belongs_to_the_next_window() -> None:
    """Trap: time windows are half-open and aligned to the epoch."""
    node = start()
    for timestamp in (0, 9, 10):
        node.pipe("k", "v", timestamp)
    assert [f.key for f in node.out] == [
        windowed("k", 0, 10),
        windowed("k", 0, 10),
        windowed("k", 10, 20),
    ]


def test_hopping_windows_each_get_the_record_earliest_first() -> None:
    """A record is in size / advance windows, fewer near the epoch: starts are never negative."""
    node = start(TUMBLING.advance_by(4))
    assert [f.key.start for f in node.pipe("k", "v", 12)] == [4, 8, 12]
    assert [f.key.start for f in node.pipe("k", "v", 3)] == []
    node = start(TUMBLING.advance_by(4))
    assert [f.key.start for f in node.pipe("k", "v", 3)] == [0]


def test_an_unlimited_window_never_closes() -> None:
    """It has one window; what lies before its start is in none, and not counted as dropped."""
    node = start(UnlimitedWindows.of().start_on(5))
    assert node.pipe("k", "1", 500)[0].key == windowed("k", 5, MAX_LONG)
    assert node.pipe("k", "2", 5)[0].value == Change("1,2", None)
    assert node.pipe("k", "3", 4) == []
    assert node.drops == []


@pytest.mark.parametrize(("stream_time", "is_open"), [(14, True), (15, False), (16, False)])
def test_a_window_closes_when_its_end_plus_grace_is_reached(
    stream_time: int, is_open: bool
) -> None:
    """Trap: closed iff end <= stream time - grace; at equality it is closed."""
    node = start(TUMBLING.grace(5))
    node.pipe("other", "v", stream_time)
    assert bool(node.pipe("k", "late", 9)) is is_open
    assert node.drops == ([] if is_open else ["expired-window"])


def test_a_late_record_counts_once_for_each_closed_window() -> None:
    """Some of its hopping windows may still be open."""
    node = start(TUMBLING.advance_by(4))
    node.pipe("other", "v", 18)
    assert [f.key.start for f in node.pipe("k", "v", 13)] == [12]
    assert node.drops == ["expired-window"] * 2


def test_stream_time_is_that_of_the_operator() -> None:
    """Trap: records that a filter kept from the operator do not close its windows."""
    node = start()
    node.context.timestamp = node._stream_time = 1_000
    assert node.pipe("k", "v", 3) != []


def test_a_null_value_is_folded_and_a_null_key_dropped() -> None:
    """Trap: unlike unwindowed aggregation, time windows do not drop null values."""
    node = start()
    assert node.pipe("k", None, 3)[0].value.new == "-"
    assert node.pipe(None, "v", 3) == []
    assert node.drops == ["null-key"]


def test_a_dropped_null_key_does_not_move_the_clock() -> None:
    """The operator has not seen the record at all."""
    node = start()
    node.pipe(None, "v", 500)
    assert node.pipe("k", "v", 3) != []


def test_the_result_carries_the_highest_timestamp_of_its_window() -> None:
    """Trap: a late update keeps the row's time; another window's time does not matter."""
    node = start(TUMBLING.grace(100))
    headers = (("h", b""),)
    assert node.pipe("k", "1", 7)[0].timestamp == 7
    assert node.pipe("k", "2", 15)[0].timestamp == 15
    assert node.pipe("k", "3", 5, headers) == [
        Forwarded(windowed("k", 0, 10), Change("1,3", None), 7, headers)
    ]


def test_an_aggregate_of_none_deletes_the_window() -> None:
    """The next record of the window starts again, from its own timestamp."""
    node = start(
        TUMBLING.grace(100),
        fn=lambda k, v, a: None if v == "x" else joined(k, v, a),
        sends_old=True,
    )
    node.pipe("k", "1", 9)
    assert node.pipe("k", "x", 3)[0].value == Change(None, "1")
    assert node.stores["store"].fetch("k", 0) is None
    assert node.pipe("k", "2", 4)[0][1:3] == (Change("2", ""), 4)


def final(windows: TimeWindows = TUMBLING, **options: Any) -> SingleNode:
    return start(windows, emit_final=True, **options)


@pytest.mark.parametrize(("stream_time", "is_emitted"), [(14, False), (15, True), (16, True)])
def test_a_final_result_is_emitted_when_its_window_closes(
    stream_time: int, is_emitted: bool
) -> None:
    """Trap: at equality of end plus grace and stream time the window is closed and emitted."""
    node = final(TUMBLING.grace(5))
    assert node.pipe("k", "1", 7) == []
    expected = [Forwarded(windowed("k", 0, 10), Change("1", None), 7, (("by", b"other"),))]
    found = node.pipe("other", "v", stream_time, (("by", b"other"),))
    assert found == (expected if is_emitted else [])


def test_each_window_is_emitted_once_by_time_then_key() -> None:
    """A window that was emitted does not come again with the next one."""
    node = final()
    for key, timestamp in (("b", 3), ("a", 4), ("a", 12)):
        node.pipe(key, "v", timestamp)
    assert [f.key for f in node.out] == [windowed("a", 0, 10), windowed("b", 0, 10)]
    node.pipe("c", "v", 20)
    assert [f.key for f in node.out[2:]] == [windowed("a", 10, 20)]


def test_a_jump_of_time_loses_results_that_the_store_no_longer_has() -> None:
    """Trap: what has outlived the retention is gone when the window closes; more of it helps."""
    node = final(retention_ms=10)
    node.pipe("k", "v", 3)
    assert node.pipe("k", "v", 500) == []
    node = final(retention_ms=1_000)
    node.pipe("k", "v", 3)
    assert [f.key for f in node.pipe("k", "v", 500)] == [windowed("k", 0, 10)]


def test_final_results_wait_for_the_emit_interval_of_the_wall_clock() -> None:
    """Looking for closed windows with every record would be slow; nothing is lost by waiting."""
    node = final(emit_interval_ms=1_000)
    node.pipe("k", "1", 3)
    node.now = 999
    assert node.pipe("k", "2", 12) == []
    node.now = 1_000
    assert [f.key.start for f in node.pipe("k", "3", 25)] == [0, 10]


def test_a_record_that_is_too_late_still_lets_others_out() -> None:
    """The clock may have moved while emission waited for its interval."""
    node = final(emit_interval_ms=1_000)
    node.pipe("k", "1", 3)
    node.pipe("k", "2", 12)
    node.now = 1_000
    assert [f.key.start for f in node.pipe("k", "late", 1)] == [0]
    assert node.drops == ["expired-window"]


def test_the_clock_can_be_carried_to_another_task() -> None:
    """What was emitted before a move is not emitted again."""
    node = final()
    node.pipe("k", "1", 3)
    node.pipe("k", "2", 12)
    clock = node.executor.clock
    assert (clock.stream_time, clock.last_close_time) == (12, 12)
    assert node.stores["store"].fetch("k", 0) == ValueAndTimestamp("1", 3)
