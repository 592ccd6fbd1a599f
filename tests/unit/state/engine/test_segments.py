"""Segments: what is live, what is hidden, what is gone, and what a restart finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.segments import (
    META,
    Segments,
    default_segment_interval_ms,
    segment_prefix,
)


def entries(store: MemoryStore) -> list[bytes]:
    return [key for key, _ in store.scan(None, META)]


def test_entry_lies_under_the_number_of_its_segment() -> None:
    """The number comes first, so that segments follow each other in key order."""
    store = MemoryStore()
    assert Segments(store, retention_ms=100, interval_ms=10).put(27, b"k", b"v")
    assert list(store.scan(None, None)) == [(segment_prefix(2) + b"k", b"v")]


def test_write_to_an_expired_segment_is_refused() -> None:
    """A segment is alive as long as one of its entries could be."""
    segments = Segments(MemoryStore(), retention_ms=100, interval_ms=10)
    assert segments.put(205, b"new", b"v")
    assert segments.put(100, b"old, but its segment reaches to 109", b"v")
    assert not segments.put(99, b"too old", b"v")


def test_expired_segments_leave_the_store_with_the_next_write() -> None:
    """Retention bounds the store physically, a whole segment at a time."""
    store = MemoryStore()
    segments = Segments(store, retention_ms=20, interval_ms=10)
    for time in range(0, 100, 10):
        segments.put(time, b"k", b"v")
    assert entries(store) == [segment_prefix(number) + b"k" for number in (7, 8, 9)]


def test_removal_moves_time_and_makes_nothing_expire() -> None:
    """What is read is hidden at once; what is on disk waits for the next write."""
    store = MemoryStore()
    segments = Segments(store, retention_ms=20, interval_ms=10)
    segments.put(5, b"k", b"v")
    segments.remove(500, [b"other"])
    assert segments.oldest_readable == 481
    assert entries(store) == [segment_prefix(0) + b"k"]


def test_scan_goes_segment_by_segment_in_both_directions() -> None:
    """Order is time by segment, then key; bounds hold inside each segment."""
    segments = Segments(MemoryStore(), retention_ms=1_000, interval_ms=10)
    for time, key in [(15, b"a"), (12, b"c"), (5, b"b"), (25, b"b"), (7, b"z")]:
        segments.put(time, key, b"")
    assert [key for key, _ in segments.scan(0, 99)] == [b"b", b"z", b"a", b"c", b"b"]
    bounds = (b"b", b"d")
    assert [key for key, _ in segments.scan(0, 99, bounds)] == [b"b", b"c", b"b"]
    assert [key for key, _ in segments.scan(0, 19, bounds, reverse=True)] == [b"c", b"b"]


def test_reopened_segments_know_their_time_and_their_number() -> None:
    """A store that forgot its stream time would show what had expired before the restart."""
    store = MemoryStore()
    before = Segments(store, retention_ms=50, interval_ms=10)
    before.put(70, b"k", b"v")
    before.sequence = 12
    before.flush()
    after = Segments(store, retention_ms=50, interval_ms=10)
    assert (after.stream_time, after.sequence) == (70, 12)
    assert after.between(0, 1_000) == [7]


@given(times=st.lists(st.integers(0, 1_000), max_size=30))
def test_restored_batch_leaves_what_single_writes_would_leave(times: list[int]) -> None:
    """Only what the batch's highest time leaves alive is written."""
    one_by_one, batch = MemoryStore(), MemoryStore()
    segments = Segments(one_by_one, retention_ms=100, interval_ms=10)
    for time in times:
        segments.put(time, b"%d" % time, b"v")
    restored = Segments(batch, retention_ms=100, interval_ms=10)
    restored.write_all((time, [(b"%d" % time, b"v")]) for time in times)
    assert entries(batch) == entries(one_by_one)
    assert restored.stream_time == segments.stream_time


def test_default_segment_is_half_of_the_retention_and_a_minute_at_least() -> None:
    """Kafka Streams' default: three segments are alive at most."""
    assert default_segment_interval_ms(100) == 60_000
    assert default_segment_interval_ms(3_600_000) == 1_800_000
