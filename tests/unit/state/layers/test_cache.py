"""The record cache counts, orders and evicts as Kafka Streams' thread cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidStateError
from penstock.model.record import RecordContext
from penstock.state.layers.cache import SIZE, VALUE, CacheEntry, NamedCache, RecordCache

# Dirty flag 1, timestamp 8, offset 8, partition 4, three links 24.
FIXED = 45


class Flushed:
    """Takes what a cache writes back."""

    def __init__(self) -> None:
        self.entries: list[tuple[bytes, bytes | None]] = []

    def __call__(self, key: bytes, entry: CacheEntry) -> None:
        self.entries.append((key, entry[VALUE]))


def context(timestamp: int = 0, topic: str | None = "t") -> RecordContext:
    return RecordContext(timestamp, 0, 0, topic)


def open_cache(max_bytes: int) -> tuple[RecordCache, NamedCache, Flushed]:
    cache, flushed = RecordCache(max_bytes), Flushed()
    return cache, cache.named("store", context(), flushed), flushed


def test_entry_counts_key_value_topic_headers_and_fixed_parts() -> None:
    """The byte budget means the same as in Java."""
    cache = RecordCache(10_000)
    written_by = RecordContext(0, 0, 0, "topic", (("h", b"12"), ("n", None)))
    store = cache.named("store", written_by, Flushed())
    store.put(b"key", b"value")
    assert cache.size_bytes == FIXED + 3 + 5 + len("topic") + len("h") + 2 + len("n")
    store.put(b"key", None)
    assert cache.size_bytes == FIXED + 3 + len("topic") + len("h") + 2 + len("n")
    store.delete(b"key")
    assert cache.size_bytes == 0


def test_clean_entry_counts_no_topic() -> None:
    """What was read has no record behind it."""
    cache, store, _ = open_cache(10_000)
    store.put_clean(b"k", b"v")
    assert cache.size_bytes == FIXED + 2


def test_flush_passes_on_dirty_entries_in_order_of_last_write() -> None:
    """A key written again moves to the end; reading moves nothing."""
    _, store, flushed = open_cache(10_000)
    for key in (b"a", b"b", b"c"):
        store.put(key, b"1")
    store.put(b"a", b"2")
    store.get(b"b")
    store.put_clean(b"d", b"read")
    store.flush()
    assert flushed.entries == [(b"b", b"1"), (b"c", b"1"), (b"a", b"2")]
    store.flush()
    assert len(flushed.entries) == 3


def test_flush_keeps_values_and_drops_tombstones() -> None:
    """After a flush values serve reads; a tombstone has nothing left to hide."""
    _, store, flushed = open_cache(10_000)
    store.put(b"a", b"1")
    store.put(b"b", None)
    store.flush()
    entry = store.get(b"a")
    assert entry is not None
    assert store.get(b"b") is None
    assert len(store) == 1
    store.flush()
    assert len(flushed.entries) == 2  # Nothing goes twice.


def test_eviction_takes_the_oldest_use_and_flushes_all_dirty_entries_after_it() -> None:
    """The evicted entry is passed on first, then the others in order of writing."""
    size = FIXED + 1 + 1 + 1
    cache, store, flushed = open_cache(3 * size)
    for key in (b"a", b"b", b"c"):
        store.put(key, b"1")
    store.get(b"a")
    store.put(b"d", b"1")
    assert flushed.entries == [(b"b", b"1"), (b"a", b"1"), (b"c", b"1"), (b"d", b"1")]
    assert store.evictions == 1
    assert store.get(b"b") is None
    assert cache.size_bytes == 3 * size


def test_eviction_of_a_clean_entry_flushes_nothing() -> None:
    """Only a dirty entry has something to pass on."""
    cache, store, flushed = open_cache(2 * (FIXED + 3))
    store.put_clean(b"a", b"1")
    store.put(b"b", b"1")
    store.put(b"c", b"1")
    assert flushed.entries == []
    assert cache.size_bytes == 2 * (FIXED + 3)


def test_write_evicts_from_its_own_store_only() -> None:
    """The budget is shared, but a store cannot push out another one's entries."""
    cache = RecordCache(3 * (FIXED + 3))
    first, second = Flushed(), Flushed()
    one, two = cache.named("one", context(), first), cache.named("two", context(), second)
    one.put(b"a", b"1")
    one.put(b"b", b"1")
    two.put(b"c", b"1")
    two.put(b"d", b"1")
    assert first.entries == []
    assert second.entries == [(b"c", b"1"), (b"d", b"1")]
    assert (len(one), len(two)) == (2, 1)


def test_no_budget_passes_on_at_once() -> None:
    """A cache of no bytes behaves as if there were none."""
    cache, store, flushed = open_cache(0)
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    assert flushed.entries == [(b"a", b"1"), (b"a", b"2")]
    assert cache.size_bytes == 0


def test_write_back_sees_the_context_of_the_record_that_wrote() -> None:
    """An entry is passed on as its own record, whatever the task works on by then."""
    now, seen = context(1), list[tuple[int, int]]()
    cache = RecordCache(10_000)
    store = cache.named("store", now, lambda key, entry: seen.append((now.timestamp, now.offset)))
    store.put(b"a", b"1")
    now.timestamp, now.offset = 2, 7
    store.put(b"b", b"1")
    now.timestamp, now.offset = 3, 9
    store.flush()
    assert seen == [(1, 0), (2, 7)]
    assert (now.timestamp, now.offset) == (3, 9)


def test_context_is_restored_when_writing_back_fails() -> None:
    """An error downstream must name the record that the task was working on."""

    def fail(key: bytes, entry: CacheEntry) -> None:
        raise ValueError(key)

    now = context(1)
    store = RecordCache(10_000).named("store", now, fail)
    store.put(b"a", b"1")
    now.timestamp = 2
    with pytest.raises(ValueError, match="a"):
        store.flush()
    assert now.timestamp == 2


def test_writing_back_may_write_into_the_same_cache() -> None:
    """A listener that puts is flushed next time; its bytes count twice, as Java counts them."""
    cache, again = RecordCache(10_000), [True]

    def write_back(key: bytes, entry: CacheEntry) -> None:
        if again:
            again.pop()
            store.put(b"tomb", b"alive")
            store.put(b"new", b"1")

    store = cache.named("store", context(), write_back)
    store.put(b"tomb", None)
    store.flush()
    assert [key for key, _ in store.range(None, None)] == [b"new", b"tomb"]
    kept = sum(entry[SIZE] for _, entry in store.range(None, None))
    tombstone = FIXED + len("tomb") + len("t")
    assert store.size_bytes == kept
    assert cache.size_bytes == kept + (kept - tombstone)


def test_clean_entry_over_a_dirty_one_is_refused() -> None:
    """It would lose the write."""
    _, store, _ = open_cache(10_000)
    store.put(b"a", b"1")
    with pytest.raises(InvalidStateError, match="cache-entry-dirty"):
        store.put_clean(b"a", b"0")


def test_range_is_half_open_ordered_and_a_use() -> None:
    """Entries that a range reaches count as used, in the order it reaches them."""
    _, store, _ = open_cache(3 * (FIXED + 3))
    for key in (b"a", b"b", b"c"):
        store.put_clean(key, b"1")
    assert [key for key, _ in store.range(b"a", b"c")] == [b"a", b"b"]
    assert [key for key, _ in store.range(b"b", None, reverse=True)] == [b"c", b"b"]
    list(store.range(b"a", b"b"))
    store.put_clean(b"d", b"1")
    assert [key for key, _ in store.range(None, None)] == [b"a", b"b", b"d"]


def test_shrinking_takes_from_each_store_in_turn() -> None:
    """A smaller budget is met at once, without emptying one store first."""
    cache = RecordCache(10_000)
    stores = [cache.named(name, context(), Flushed()) for name in ("one", "two")]
    for store in stores:
        for key in (b"a", b"b", b"c"):
            store.put(key, b"1")
    cache.resize(4 * (FIXED + 3))
    assert [len(store) for store in stores] == [2, 2]
    cache.resize(10_000)
    assert cache.max_bytes == 10_000


def test_closed_cache_gives_its_bytes_back() -> None:
    """A store that is closed and opened again starts empty."""
    cache, store, flushed = open_cache(10_000)
    store.put(b"a", b"1")
    store.close()
    assert cache.size_bytes == 0
    assert flushed.entries == []
    cache.named("store", context(), flushed)
    with pytest.raises(InvalidStateError, match="cache-exists"):
        cache.named("store", context(), flushed)


def test_hits_and_misses_are_counted() -> None:
    """The hit ratio says whether the cache is worth its bytes."""
    _, store, _ = open_cache(10_000)
    store.put(b"a", b"1")
    store.get(b"a")
    store.get(b"b")
    assert (store.hits, store.misses) == (1, 1)


@given(
    st.integers(0, 600),
    st.lists(
        st.tuples(st.sampled_from("pgdfc"), st.sampled_from(b"abcdef"), st.binary(max_size=9))
    ),
)
def test_size_is_always_the_sum_of_the_entries(
    max_bytes: int, steps: list[tuple[str, int, bytes]]
) -> None:
    """And never above the budget once a write returns."""
    cache, store, _ = open_cache(max_bytes)
    for step, letter, value in steps:
        key = bytes([letter])
        if step == "p":
            store.put(key, value or None)
        elif step == "g" and store.get(key) is None:
            store.put_clean(key, value)
        elif step == "d":
            store.delete(key)
        elif step == "f":
            store.flush()
        elif step == "c":
            store.clear()
        assert cache.size_bytes == sum(entry[SIZE] for _, entry in store.range(None, None))
        assert cache.size_bytes <= max_bytes


def test_after_a_flush_a_cache_shrinks_without_a_word() -> None:
    """The oldest uses go, nothing is passed on, and the budget stays."""
    cache, store, flushed = open_cache(10_000)
    for key in (b"a", b"b", b"c"):
        store.put(key, b"1")
    cache.flush()
    flushed.entries.clear()
    cache.keep(cache.size_bytes - 1)
    assert flushed.entries == []
    assert [key for key in (b"a", b"b", b"c") if store.get(key) is not None] == [b"b", b"c"]
    cache.keep(0)
    assert (len(store), cache.size_bytes, cache.max_bytes) == (0, 0, 10_000)
