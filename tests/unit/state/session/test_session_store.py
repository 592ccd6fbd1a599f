"""Session stores as processors see them: the commands and results of recorded Java runs.

Exercises ``memory_session``, ``segmented_session``, ``session_bytes`` and ``time_ordered_session``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import InvalidStateError, NullArgumentError
from penstock.model.windows.windowed import Window, Windowed
from tests.state.kinds import Bench, session

BOTH = pytest.mark.parametrize("persistent", [False, True])


def at(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, Window(start, end))


A1, A2, A3, B = at("a", 0, 5), at("a", 10, 20), at("a", 30, 30), at("b", 12, 12)


def filled(**fields: Any) -> Bench:
    bench = Bench(session(segment_interval_ms=60_000, **fields))
    for where, value in [(A1, "1"), (A2, "2"), (B, "3"), (A3, "4")]:
        bench.store.put(where, value)
    return bench


def keys(found: Any) -> list[Windowed[str]]:
    return [key for key, _ in found]


@BOTH
def test_find_sessions_gives_those_that_touch_the_span(persistent: bool) -> None:
    """A session touches it if it ends late enough and starts early enough."""
    store = filled(persistent=persistent).store
    assert keys(store.fetch("a")) == [A1, A2, A3]
    assert list(store.find_sessions("a", 5, 10)) == [(A1, "1"), (A2, "2")]
    assert list(store.find_sessions("a", 6, 9)) == []
    assert (store.fetch_session("a", 0, 5), store.fetch_session("a", 0, 6)) == ("1", None)


def test_ranges_come_by_key_on_disk_and_by_end_in_memory() -> None:
    """The order is Kafka Streams' for each kind of store."""
    orders = {True: [A1, A2, A3, B], False: [A1, B, A2, A3]}
    for persistent, order in orders.items():
        store = filled(persistent=persistent).store
        assert keys(store.fetch_range("a", "b")) == order
        assert keys(store.find_sessions_range(None, "b", 0, 100)) == order
        assert keys(store.fetch_range("b", "a")) == []


@BOTH
@pytest.mark.parametrize("caching", [False, True])
def test_range_has_every_key_up_to_its_bound(persistent: bool, caching: bool) -> None:
    """Also the shorter ones that a zero byte separates from the bound, and the empty one."""
    bench = Bench(session(persistent=persistent, caching=caching), cache_bytes=10_000)
    for key in ["", "a", "a\0", "b"]:
        bench.store.put(at(key, 180, 187), key)
    bench.store.put(at("z", 268, 268), "z")
    found = bench.store.fetch_range(None, "a\0")
    assert sorted(value for _, value in found) == ["", "a", "a\0"]
    assert len(list(bench.store.find_sessions_range("a", "a\0", 0, 300))) == 2


def test_sessions_that_end_together_come_by_start_or_by_key() -> None:
    """On disk by start, then key; in memory by key, the latest start first."""
    together = [at("a", 1, 9), at("a", 4, 9), at("b", 0, 9)]
    by_start = [at("b", 0, 9), at("a", 1, 9), at("a", 4, 9)]
    by_key = [at("a", 4, 9), at("a", 1, 9), at("b", 0, 9)]
    for fields, order in [
        ({}, by_start),
        ({"time_ordered": True}, by_start),
        ({"persistent": False}, by_key),
    ]:
        bench = Bench(session(**fields))
        for where in [*together, at("c", 0, 20), at("c", 0, 3)]:
            bench.store.put(where, "x")
        assert keys(bench.store.find_sessions_ending(4, 19)) == order


@BOTH
def test_remove_and_none_delete(persistent: bool) -> None:
    """Both write a tombstone to the changelog, under Java's key."""
    bench = filled(persistent=persistent)
    bench.store.remove(A2)
    bench.store.put(A3, None)
    assert keys(bench.store.fetch("a")) == [A1]
    tombstone = b"a" + (20).to_bytes(8, "big") + (10).to_bytes(8, "big")
    assert bench.logged[-2] == (tombstone, None, 0)


@BOTH
def test_what_ended_before_retention_is_hidden(persistent: bool) -> None:
    """The end of a session decides, not its start."""
    bench = filled(persistent=persistent)
    bench.store.put(at("a", 0, 119), "x")
    assert keys(bench.store.fetch("a")) == [A2, A3, at("a", 0, 119)]
    bench.store.put(at("a", 120, 120), "x")
    assert bench.store.fetch_session("a", 10, 20) is None
    assert keys(bench.store.fetch("b")) == []


def test_expired_put_is_dropped_by_end_in_memory_and_by_segment_on_disk() -> None:
    """The store says so through the environment."""
    for persistent, oldest_taken in [(False, 101), (True, 100)]:
        bench = Bench(session(persistent=persistent))
        bench.store.put(at("a", 0, 200), "x")
        bench.store.put(at("a", 0, oldest_taken), "x")
        assert bench.dropped == 0
        bench.store.put(at("a", 0, oldest_taken - 1), "x")
        assert bench.dropped == 1


@BOTH
def test_sessions_can_be_read_backwards(persistent: bool) -> None:
    """The opposite order of the same sessions; Kafka Streams allows it in processors from 4.3."""
    store = filled(persistent=persistent).store
    assert keys(store.backward_fetch("a")) == [A3, A2, A1]
    assert keys(store.backward_find_sessions("a", 0, A2.start)) == [A2, A1]
    assert keys(store.backward_fetch_range("a", "a")) == [A3, A2, A1]
    assert keys(store.backward_fetch_range("b", "a")) == []
    forward = keys(store.find_sessions_range(None, None, 0, 100))
    assert keys(store.backward_find_sessions_range(None, None, 0, 100)) == forward[::-1]


@BOTH
def test_null_sessions_and_keys_are_refused(persistent: bool) -> None:
    """A key range may be open, a key may not."""
    store = filled(persistent=persistent).store
    with pytest.raises(NullArgumentError):
        store.put(None, "x")
    with pytest.raises(NullArgumentError):
        store.remove(Windowed(None, Window(0, 1)))
    with pytest.raises(NullArgumentError):
        store.fetch(None)


@BOTH
def test_closed_store_refuses_reads(persistent: bool) -> None:
    """A store that is closed has nothing to say."""
    bench = filled(persistent=persistent)
    bench.store.close()
    with pytest.raises(InvalidStateError, match="store 'store' is closed"):
        bench.store.fetch("a")
