"""Cached window stores: one update per window and flush, with the context of its last record.

Exercises ``cached_segments`` and ``time_ordered_window``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.windowed import Window, Windowed
from penstock.state.spec import StoreKind
from tests.state.kinds import Bench, window
from tests.state.kit import Forwarded

LAYOUTS = pytest.mark.parametrize(
    "fields", [{}, {"persistent": False}, {"time_ordered": True}], ids=str
)


def at(key: str, start: int) -> Windowed[str]:
    return Windowed(key, Window(start, start + 10))


def cached(
    *, send_old: bool = False, cache_bytes: int = 10_000, **fields: Any
) -> tuple[Bench, Forwarded]:
    bench = Bench(window(caching=True, **fields), cache_bytes=cache_bytes)
    forwarded = Forwarded(bench.task)
    assert bench.store.set_flush_listener(forwarded, send_old=send_old)
    return bench, forwarded


@LAYOUTS
def test_flush_passes_on_the_last_write_per_window(fields: dict[str, Any]) -> None:
    """In order of the last writes, with the record's own context and Windowed keys."""
    bench, forwarded = cached(**fields)
    for time, key, value in [(1, "a", "1"), (2, "b", "2"), (3, "a", "3")]:
        bench.task.at(time)
        bench.store.put(key, value, 0)
    assert (bench.store.fetch("a", 0), forwarded.changes, bench.logged) == ("3", [], [])
    bench.task.at(9)
    bench.store.flush()
    assert forwarded.changes == [(at("b", 0), "2", None), (at("a", 0), "3", None)]
    assert forwarded.timestamps == [2, 3]
    assert [time for _, _, time in bench.logged] == [2, 3]
    assert bench.task.context.timestamp == 9


@LAYOUTS
def test_old_value_is_the_one_of_the_inner_store(fields: dict[str, Any]) -> None:
    """What was overwritten in the cache, nobody has seen."""
    bench, forwarded = cached(send_old=True, **fields)
    bench.store.put("a", "1", 0)
    bench.store.flush()
    bench.store.put("a", "2", 0)
    bench.store.put("a", "3", 0)
    bench.store.flush()
    bench.store.put("a", None, 0)
    bench.store.flush()
    assert forwarded.changes == [
        (at("a", 0), "1", None), (at("a", 0), "3", "1"), (at("a", 0), None, "3"),
    ]  # fmt: skip


@LAYOUTS
def test_window_that_came_and_went_is_not_passed_on(fields: dict[str, Any]) -> None:
    """Its tombstone would delete nothing, here and downstream."""
    bench, forwarded = cached(**fields)
    bench.store.put("a", "1", 0)
    bench.store.put("a", None, 0)
    assert (bench.store.fetch("a", 0), list(bench.store.all())) == (None, [])
    bench.store.flush()
    assert (forwarded.changes, bench.logged) == ([], [])


@LAYOUTS
def test_reads_see_cache_and_store_as_one(fields: dict[str, Any]) -> None:
    """Half of the windows are flushed, the other half waits."""
    bench, _ = cached(**fields)
    plain = Bench(window(**fields))
    for number in range(20):
        for store in (bench.store, plain.store):
            store.put("ab"[number % 2], str(number), 3 * number)
        if number == 9:
            bench.store.flush()
    for store in (bench.store, plain.store):
        store.put("a", None, 12)
        store.put("b", "again", 9)
    assert list(bench.store.all()) == list(plain.store.all())
    assert list(bench.store.backward_all()) == list(plain.store.backward_all())
    assert list(bench.store.fetch("a", 5, 40)) == list(plain.store.fetch("a", 5, 40))
    ranges = [store.fetch_range(None, "a", 3, 50) for store in (bench.store, plain.store)]
    assert list(ranges[0]) == list(ranges[1])


def test_full_cache_evicts_and_passes_on() -> None:
    """An eviction of a dirty entry flushes all of them, the evicted one first."""
    bench, forwarded = cached(cache_bytes=150)
    for number in range(3):
        bench.store.put("a", str(number), 10 * number)
    assert [key.start for key, _, _ in forwarded.changes][:1] == [0]
    assert bench.logged


def test_timestamped_store_hands_both_to_its_listener() -> None:
    """New and old come as ValueAndTimestamp; the changelog has the value's own time."""
    bench, forwarded = cached(kind=StoreKind.TIMESTAMPED_WINDOW, send_old=True)
    for time in (7, 8):
        bench.store.put("a", ValueAndTimestamp("x", time), 0)
        bench.store.flush()
    old, new = ValueAndTimestamp("x", 7), ValueAndTimestamp("x", 8)
    assert forwarded.changes[-1] == (at("a", 0), new, old)
    assert [time for _, _, time in bench.logged] == [7, 8]


def test_without_a_listener_the_flush_writes_tombstones_too() -> None:
    """Nobody needs the old value then, so nobody looks for it."""
    bench = Bench(window(caching=True), cache_bytes=10_000)
    bench.store.put("a", None, 0)
    bench.store.flush()
    assert [value for _, value, _ in bench.logged] == [None]


def test_store_with_duplicates_is_never_cached() -> None:
    """A cache keeps one value per window."""
    bench = Bench(window(caching=True, retain_duplicates=True), cache_bytes=10_000)
    assert not bench.store.set_flush_listener(Forwarded(bench.task), send_old=False)


def test_closing_flushes() -> None:
    """What was written is in the store and in the changelog, or nowhere."""
    bench, forwarded = cached()
    bench.store.put("a", "1", 0)
    bench.store.close()
    assert forwarded.changes == [(at("a", 0), "1", None)]


def test_cache_forgets_segments_that_it_has_emptied() -> None:
    """A fetch does not pay for every segment that ever was."""
    bench, _ = cached(cache_bytes=2_000, segment_interval_ms=1, retention_ms=10**9)
    for start in range(1_000):
        bench.store.put("a", "x", start)
    segments = bench.store._cached._cached._written
    assert len(segments) < 200
    assert len(list(bench.store.fetch("a", 0, 2_000))) == 1_000


def test_late_window_in_a_new_segment_is_found() -> None:
    """The cache looks for empty segments before it has the window."""
    bench, _ = cached(cache_bytes=100_000, segment_interval_ms=1, retention_ms=10**9)
    for start in range(0, 400, 2):
        bench.store.put("a", "newer", start + 1)
        bench.store.put("a", "late", start)
    assert [time for time, _ in bench.store.fetch("a", 0, 400)] == list(range(400))


def test_view_without_the_cache_hides_windows_that_have_expired() -> None:
    """The cache keeps what it has written back, and shows it for as long as there is room."""
    bench, _ = cached(persistent=False)
    for start in (0, 500):
        bench.store.put("a", str(start), start)
        bench.store.flush()
    seen = [
        [value for _, value in store.all()] for store in (bench.store, bench.store.without_cache())
    ]
    assert seen == [["0", "500"], ["500"]]
