"""Folding a grouped stream per session."""

from typing import Any

import pytest

from penstock.model.change import Change
from penstock.model.windows.definitions import SessionWindows
from penstock.topology.nodes import SessionAggregate
from tests.unit.kernel.single_node import (
    Forwarded,
    SingleNode,
    joined,
    session_store,
    windowed,
)

HEADERS = (("h", b""),)


def start(
    gap_ms: int = 10,
    grace_ms: int = 0,
    *,
    retention_ms: int = 1_000,
    caching: bool = False,
    emit_interval_ms: int = 0,
    **options: Any,
) -> SingleNode:
    node = SessionAggregate(
        name="n",
        store="store",
        windows=SessionWindows(gap_ms, grace_ms),
        initializer=lambda: "i",
        fn=joined,
        merger=lambda key, a, b: f"({a}&{b})",
        **options,
    )
    return SingleNode(
        node,
        session_store(retention_ms, caching=caching),
        cache_bytes=10_000 if caching else 0,
        emit_interval_ms=emit_interval_ms,
    )


@pytest.mark.parametrize(("second", "sessions"), [(19, 1), (20, 1), (21, 2)])
def test_records_exactly_a_gap_apart_are_one_session(second: int, sessions: int) -> None:
    """Trap: the gap is inclusive on both sides."""
    node = start()
    node.pipe("k", "1", 10)
    node.pipe("k", "2", second)
    with node.stores["store"].fetch("k") as found:
        assert len(list(found)) == sessions


def test_a_record_starts_a_session_of_no_length() -> None:
    """Trap: session results carry the session's end as timestamp, and no headers."""
    assert start().pipe("k", "1", 10, HEADERS) == [
        Forwarded(windowed("k", 10, 10), Change("i,1", None), 10)
    ]


def test_a_grown_session_replaces_the_old_one_by_a_tombstone_first() -> None:
    """Trap: each replaced session is emitted as a tombstone, at its own end."""
    node = start(sends_old=True)
    node.pipe("k", "1", 10)
    assert node.pipe("k", "2", 15) == [
        Forwarded(windowed("k", 10, 10), Change(None, "i,1"), 10),
        Forwarded(windowed("k", 10, 15), Change("(i&i,1),2", None), 15),
    ]


def test_merging_starts_from_the_initializer_in_order_of_the_sessions() -> None:
    """Trap: merge(merge(init, first), second), and only then the record's own value."""
    node = start()
    node.pipe("k", "1", 10)
    node.pipe("k", "2", 30)
    merged = node.pipe("k", "3", 20)
    assert [f.key for f in merged] == [
        windowed("k", 10, 10),
        windowed("k", 30, 30),
        windowed("k", 10, 30),
    ]
    assert merged[2][1:3] == (Change("((i&i,1)&i,2),3", None), 30)


def test_a_record_at_the_very_time_of_a_short_session_makes_no_tombstone() -> None:
    """The session keeps its bounds, so it is overwritten."""
    node = start()
    node.pipe("k", "1", 10)
    assert node.pipe("k", "2", 10) == [
        Forwarded(windowed("k", 10, 10), Change("(i&i,1),2", None), 10)
    ]


def test_a_record_inside_a_session_replaces_it_by_itself() -> None:
    """As in Java the tombstone is sent although key and bounds stay the same."""
    node = start()
    node.pipe("k", "1", 10)
    node.pipe("k", "2", 20)
    assert [(f.key, f.value.new) for f in node.pipe("k", "3", 15)] == [
        (windowed("k", 10, 20), None),
        (windowed("k", 10, 20), "(i&(i&i,1),2),3"),
    ]


@pytest.mark.parametrize(("stream_time", "is_open"), [(24, True), (25, True), (26, False)])
def test_a_session_closes_after_its_end_plus_gap_plus_grace(
    stream_time: int, is_open: bool
) -> None:
    """Trap: closed iff end < stream time - grace - gap; at equality it is still open."""
    node = start(gap_ms=10, grace_ms=5)
    node.pipe("other", "v", stream_time)
    assert bool(node.pipe("k", "late", 10)) is is_open
    assert node.drops == ([] if is_open else ["expired-window"])


def test_a_late_record_is_taken_if_it_merges_into_an_open_session() -> None:
    """What counts is the end of the merged session, not the record's own time."""
    node = start()
    node.pipe("k", "1", 20)
    node.pipe("other", "v", 25)
    assert node.pipe("k", "late", 12)[-1].key == windowed("k", 12, 20)
    assert node.drops == []


def test_a_null_value_is_folded_and_a_null_key_dropped() -> None:
    """Trap: sessions do not drop null values."""
    node = start()
    assert node.pipe("k", None, 3)[0].value.new == "i,-"
    assert node.pipe(None, "v", 300) == []
    assert node.drops == ["null-key"]
    assert node.pipe("k", "2", 4)[-1].key == windowed("k", 3, 4)


def test_behind_a_cache_sessions_are_forwarded_at_their_end() -> None:
    """The flush carries the headers of the record that wrote last."""
    node = start(caching=True)
    assert node.pipe("k", "1", 10) == []
    assert node.pipe("k", "2", 10, HEADERS) == []
    node.stores["store"].flush()
    assert node.out == [Forwarded(windowed("k", 10, 10), Change("(i&i,1),2", None), 10, HEADERS)]


@pytest.mark.parametrize(("stream_time", "is_emitted"), [(25, False), (26, True), (27, True)])
def test_a_final_result_is_emitted_when_its_session_closes(
    stream_time: int, is_emitted: bool
) -> None:
    """Trap: sessions include their end, so they close one millisecond later than windows."""
    node = start(gap_ms=10, grace_ms=5, emit_final=True)
    assert node.pipe("k", "1", 10) == []
    found = node.pipe("other", "v", stream_time, HEADERS)
    expected = [Forwarded(windowed("k", 10, 10), Change("i,1", None), 10, HEADERS)]
    assert found == (expected if is_emitted else [])


def test_final_results_come_once_and_merged_sessions_leave_no_tombstones() -> None:
    """A session that grew was never emitted, so there is nothing to take back."""
    node = start(emit_final=True)
    for key, timestamp in (("k", 10), ("k", 15), ("k", 50)):
        node.pipe(key, "v", timestamp)
    assert [f.key for f in node.out] == [windowed("k", 10, 15)]
    node.pipe("k", "v", 100)
    assert [f.key for f in node.out[1:]] == [windowed("k", 50, 50)]


def test_a_jump_of_time_loses_sessions_that_the_store_no_longer_has() -> None:
    """Trap: an expired session is neither found to merge nor to emit."""
    node = start(emit_final=True, retention_ms=10)
    node.pipe("k", "1", 10)
    assert node.pipe("k", "2", 500) == []
    assert node.drops == ["expired-before-emission"]


def test_final_sessions_wait_for_the_emit_interval_of_the_wall_clock() -> None:
    """The same rule as for time windows."""
    node = start(emit_final=True, emit_interval_ms=1_000)
    node.pipe("k", "1", 10)
    node.now = 999
    assert node.pipe("k", "2", 50) == []
    node.now = 1_000
    assert [f.key for f in node.pipe("k", "3", 51)] == [windowed("k", 10, 10)]
