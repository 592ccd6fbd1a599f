"""The LRU map keeps the entries that were used last, and logs evictions as Kafka Streams does."""

from __future__ import annotations

from penstock.model.versioned import ValueAndTimestamp
from penstock.state.engine.lru import LruStore
from penstock.state.spec import StoreKind
from tests.state.kit import Task, kv


def test_oldest_use_goes_first() -> None:
    """Reads and overwrites are uses; scans are not."""
    gone: list[bytes] = []
    store = LruStore(2, gone.append)
    store.put(b"a", b"1")
    store.put(b"b", b"1")
    store.get(b"a")
    list(store.scan(None, None))
    store.put(b"c", b"1")
    store.put(b"a", b"2")
    store.put(b"d", b"1")
    assert gone == [b"b", b"c"]
    assert list(store.scan(None, None)) == [(b"a", b"2"), (b"d", b"1")]
    assert store.approximate_num_entries() == 2


def test_deleted_entry_makes_room() -> None:
    """Nothing is evicted for a key that fits."""
    gone: list[bytes] = []
    store = LruStore(2, gone.append)
    store.write([(b"a", b"1"), (b"b", b"1"), (b"a", None), (b"c", b"1")])
    assert gone == []
    assert store.multi_get([b"a", b"b", b"c"]) == [None, b"1", b"1"]


def test_scan_is_ordered_by_key() -> None:
    """Order of use decides what stays, not how it is read."""
    store = LruStore(9)
    store.write([(b"b", b"1"), (b"a", b"1"), (b"c", b"1")])
    assert [key for key, _ in store.scan(b"a", b"c")] == [b"a", b"b"]
    assert [key for key, _ in store.scan(None, None, reverse=True)] == [b"c", b"b", b"a"]
    store.delete_range(b"a", b"c")
    assert list(store.scan(None, None)) == [(b"c", b"1")]


def test_map_of_no_entries_keeps_nothing() -> None:
    """Zero is a size."""
    store = LruStore(0)
    store.put(b"a", b"1")
    assert store.get(b"a") is None


def test_eviction_is_logged_before_the_write_that_caused_it() -> None:
    """Kafka Streams' order: tombstone of the eldest, then the new entry."""
    task = Task().at(1)
    store = task.open(kv(max_entries=1))
    store.put("a", "1")
    task.at(2)
    store.put("b", "1")
    assert task.logs["store"].records == [(b"a", b"1", 1), (b"a", None, 2), (b"b", b"1", 2)]


def test_timestamped_map_does_not_log_evictions() -> None:
    """A gap of Kafka Streams that topics of the same content must share."""
    task = Task()
    store = task.open(kv(max_entries=1, kind=StoreKind.TIMESTAMPED_KEY_VALUE))
    store.put("a", ValueAndTimestamp("1", 1))
    store.put("b", ValueAndTimestamp("2", 2))
    assert task.logs["store"].records == [(b"a", b"1", 1), (b"b", b"2", 2)]


def test_restore_evicts_without_logging() -> None:
    """The changelog is read, not written, and the map stays within its size."""
    task = Task()
    store = task.open(kv(max_entries=1))
    store.restore([(b"a", b"1", 1), (b"b", b"2", 2)])
    assert list(store.all()) == [("b", "2")]
    assert task.logs["store"].records == []
