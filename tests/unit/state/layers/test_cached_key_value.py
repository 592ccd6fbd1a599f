"""Caching: one update per key and flush, with the context of its last record."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.model.versioned import ValueAndTimestamp
from penstock.state.spec import StoreKind
from tests.state.kit import Forwarded, Task, kv

CACHED = kv(caching=True)


def open_cached(
    *, send_old: bool = False, cache_bytes: int = 10_000
) -> tuple[Task, Any, Forwarded]:
    task = Task(cache_bytes)
    store, forwarded = task.open(CACHED), Forwarded(task)
    assert store.set_flush_listener(forwarded, send_old=send_old)
    return task, store, forwarded


def test_put_is_read_back_before_any_flush() -> None:
    """The cache holds writes back from the changelog, never from readers."""
    task, store, forwarded = open_cached()
    store.put("a", "1")
    assert store.get("a") == "1"
    assert list(store.all()) == [("a", "1")]
    assert task.logs["store"].records == []
    assert forwarded.changes == []


def test_flush_passes_on_the_last_value_of_each_key() -> None:
    """Many updates become one changelog record and one change downstream."""
    task, store, forwarded = open_cached(send_old=True)
    for step, (key, value) in enumerate([("a", "1"), ("b", "1"), ("a", "2")]):
        task.at(step, offset=10 + step, headers=(("h", b"%d" % step),))
        store.put(key, value)
    task.at(99)
    store.flush()
    assert forwarded.changes == [("b", "1", None), ("a", "2", None)]
    assert forwarded.timestamps == [1, 2]
    assert [(seen.timestamp, seen.offset) for seen in forwarded.contexts] == [(1, 11), (2, 12)]
    assert forwarded.contexts[1].headers == (("h", b"2"),)
    assert task.logs["store"].records == [(b"b", b"1", 1), (b"a", b"2", 2)]
    assert task.context.timestamp == 99


def test_old_value_is_the_one_of_the_last_flush() -> None:
    """Downstream sees a chain of changes without gaps; without send_old it sees none."""
    for send_old, old in ((True, "1"), (False, None)):
        _, store, forwarded = open_cached(send_old=send_old)
        store.put("a", "1")
        store.flush()
        store.put("a", "2")
        store.put("a", "3")
        store.flush()
        store.put("a", None)
        store.flush()
        last = "3" if send_old else None
        assert forwarded.changes == [("a", "1", None), ("a", "3", old), ("a", None, last)]


def test_key_that_came_and_went_is_passed_on_to_nobody() -> None:
    """Neither the changelog nor downstream ever saw it."""
    task, store, forwarded = open_cached()
    store.put("a", "1")
    store.put("a", None)
    store.flush()
    assert forwarded.changes == []
    assert task.logs["store"].records == []


def test_without_listener_every_dirty_entry_is_written() -> None:
    """A store of the Processor API is cached without anybody listening, and logs its tombstones."""
    task = Task(10_000)
    store = task.open(CACHED)
    store.put("a", None)
    store.flush()
    assert task.logs["store"].records == [(b"a", None, 0)]


def test_timestamped_listener_gets_values_with_their_timestamps() -> None:
    """The operator takes the time from the value; the cache gives the record's."""
    task = Task(10_000).at(7)
    store = task.open(kv(caching=True, kind=StoreKind.TIMESTAMPED_KEY_VALUE))
    forwarded = Forwarded(task)
    store.set_flush_listener(forwarded, send_old=True)
    store.put("a", ValueAndTimestamp("1", 3))
    store.flush()
    assert forwarded.changes == [("a", ValueAndTimestamp("1", 3), None)]
    assert forwarded.timestamps == [7]
    assert task.logs["store"].records == [(b"a", b"1", 3)]


@pytest.mark.parametrize(("spec", "cache_bytes"), [(CACHED, None), (kv(), 10_000)])
def test_store_without_cache_takes_no_listener(spec: Any, cache_bytes: int | None) -> None:
    """The operator then forwards by itself."""
    task = Task(cache_bytes)
    store = task.open(spec)
    assert not store.set_flush_listener(Forwarded(task), send_old=True)
    store.put("a", "1")
    store.flush()
    assert task.logs["store"].records == [(b"a", b"1", 0)]


def test_full_cache_passes_on_without_a_flush() -> None:
    """The byte budget is the other trigger."""
    _, store, forwarded = open_cached(cache_bytes=120)
    for key in "abcd":
        store.put(key, "1")
    assert [key for key, _, _ in forwarded.changes] == ["a", "b", "c"]
    store.flush()
    assert [key for key, _, _ in forwarded.changes] == ["a", "b", "c", "d"]


def test_ranges_merge_cache_and_store() -> None:
    """Cached values win, cached tombstones hide, in both directions."""
    _, store, _ = open_cached()
    store.put_all([("a", "1"), ("b", "1"), ("c", "1")])
    store.flush()
    store.put_all([("aa", "2"), ("b", None), ("c", "2"), ("d", "2")])
    merged = [("a", "1"), ("aa", "2"), ("c", "2"), ("d", "2")]
    assert list(store.all()) == merged
    assert list(store.reverse_all()) == merged[::-1]
    assert list(store.range("aa", "c")) == merged[1:3]
    assert list(store.reverse_range("aa", "c")) == merged[2:0:-1]
    assert list(store.prefix_scan("a", str.encode)) == merged[:2]
    assert store.approximate_num_entries() == 3


def test_close_flushes_what_the_cache_holds() -> None:
    """As in Kafka Streams, a store that is closed loses nothing."""
    task, store, forwarded = open_cached()
    store.put("a", "1")
    store.close()
    assert forwarded.changes == [("a", "1", None)]
    assert task.cache is not None
    assert task.cache.size_bytes == 0


def test_flush_that_forwards_into_another_cached_store_reaches_it() -> None:
    """Downstream operators of the same task write while the upstream cache is being flushed."""
    task = Task(10_000)
    first, second = task.open(CACHED), task.open(kv("second", caching=True))
    first.set_flush_listener(lambda key, new, *_: second.put(key, new), send_old=False)
    task.at(4)
    first.put("a", "1")
    task.at(8)
    first.flush()
    assert second.get("a") == "1"
    second.flush()
    assert task.logs["second"].records == [(b"a", b"1", 4)]
