"""Cached session stores: one update per session and flush."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import UnsupportedOperationError
from penstock.model.windows.windowed import Window, Windowed
from tests.state.kinds import Bench, session
from tests.state.kit import Forwarded

BOTH = pytest.mark.parametrize("persistent", [False, True])


def at(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, Window(start, end))


def cached(*, send_old: bool = False, **fields: Any) -> tuple[Bench, Forwarded]:
    bench = Bench(session(caching=True, **fields), cache_bytes=10_000)
    forwarded = Forwarded(bench.task)
    assert bench.store.set_flush_listener(forwarded, send_old=send_old)
    return bench, forwarded


@BOTH
def test_merged_sessions_leave_no_trace_of_those_that_nobody_saw(persistent: bool) -> None:
    """Sessions that grow between two flushes are passed on once, at their final size."""
    bench, forwarded = cached(persistent=persistent)
    bench.store.put(at("a", 0, 0), "1")
    bench.store.remove(at("a", 0, 0))
    bench.task.at(5)
    bench.store.put(at("a", 0, 5), "2")
    bench.store.flush()
    assert forwarded.changes == [(at("a", 0, 5), "2", None)]
    assert forwarded.timestamps == [5]
    assert len(bench.logged) == 1


@BOTH
def test_removed_session_that_was_seen_is_passed_on_with_its_old_value(persistent: bool) -> None:
    """The old value is the inner store's."""
    bench, forwarded = cached(send_old=True, persistent=persistent)
    bench.store.put(at("a", 0, 3), "1")
    bench.store.flush()
    bench.store.remove(at("a", 0, 3))
    bench.store.put(at("a", 0, 9), "2")
    bench.store.flush()
    assert forwarded.changes[1:] == [(at("a", 0, 3), None, "1"), (at("a", 0, 9), "2", None)]


@BOTH
def test_reads_see_cache_and_store_as_one(persistent: bool) -> None:
    """Half of the sessions are flushed, the other half waits."""
    bench, _ = cached(persistent=persistent)
    plain = Bench(session(persistent=persistent))
    for number in range(20):
        for store in (bench.store, plain.store):
            store.put(at("ab"[number % 2], 3 * number, 4 * number), str(number))
        if number == 9:
            bench.store.flush()
    for store in (bench.store, plain.store):
        store.remove(at("a", 12, 16))
    assert list(bench.store.fetch("a")) == list(plain.store.fetch("a"))
    assert list(bench.store.fetch_range(None, None)) == list(plain.store.fetch_range(None, None))
    stores = (bench.store, plain.store)
    backward = [store.backward_find_sessions_range(None, "b", 10, 50) for store in stores]
    assert list(backward[0]) == list(backward[1])
    assert bench.store.fetch_session("a", 12, 16) is None
    assert bench.store.fetch_session("b", 3, 4) == "1"


def test_cached_store_cannot_search_by_end_time() -> None:
    """Final results are never cached, so Kafka Streams has no such search either."""
    bench, _ = cached()
    with pytest.raises(UnsupportedOperationError, match="disable caching"):
        bench.store.find_sessions_ending(0, 10)


def test_without_a_listener_the_flush_writes_tombstones_too() -> None:
    """Nobody needs the old value then, so nobody looks for it."""
    bench = Bench(session(caching=True), cache_bytes=10_000)
    bench.store.remove(at("a", 0, 1))
    bench.store.close()
    assert [value for _, value, _ in bench.logged] == [None]


def test_view_without_the_cache_hides_sessions_that_have_expired() -> None:
    """The cache keeps what it has written back, and shows it for as long as there is room."""
    bench, _ = cached(persistent=False)
    for end in (0, 500):
        bench.store.put(at("a", end, end), str(end))
        bench.store.flush()
    seen = [
        [value for _, value in store.fetch("a")]
        for store in (bench.store, bench.store.without_cache())
    ]
    assert seen == [["0", "500"], ["500"]]
