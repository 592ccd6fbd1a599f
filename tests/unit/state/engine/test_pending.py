"""Writes of a batch wait: sealed, then applied with their checkpoint, or forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from penstock.errors import StoreError, UnsupportedOperationError
from penstock.state.bytes_store import KeyRange, Write
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.pending import Checkpoint, CommittedView, PendingStore


@pytest.fixture
def inner() -> MemoryStore:
    store = MemoryStore()
    store.write([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])
    return store


def test_a_batch_sees_its_own_writes_and_the_map_does_not(inner: MemoryStore) -> None:
    """RocksDB never holds an uncommitted batch."""
    store = PendingStore(inner)
    store.put(b"a", b"new")
    store.delete_range(b"b", b"c")
    assert list(store.scan(None, None)) == [(b"a", b"new"), (b"c", b"3")]
    assert store.multi_get([b"a", b"b"]) == [b"new", None]
    assert list(inner.scan(None, None)) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]


def test_a_write_after_a_deleted_range_counts(inner: MemoryStore) -> None:
    """Deleting a range must not hide what is written into it later."""
    store = PendingStore(inner)
    store.delete_range(b"a", b"z")
    store.put(b"b", b"again")
    store.seal(Checkpoint(0, 1))
    store.apply()
    assert list(store.scan(None, None)) == [(b"b", b"again")]


def test_sealed_writes_are_applied_together_with_their_checkpoint(inner: MemoryStore) -> None:
    """The next owner of the directory finds out which batch it holds."""
    store = PendingStore(inner)
    store.put(b"d", b"4")
    store.seal(Checkpoint(7, 120))
    store.apply()
    assert inner.get(b"d") == b"4"
    assert PendingStore(inner).checkpoint == Checkpoint(7, 120)
    assert [key for key, _ in store.scan(None, None)] == [b"a", b"b", b"c", b"d"]


def test_apply_without_seal_does_nothing(inner: MemoryStore) -> None:
    """A batch that failed before its commit leaves nothing."""
    store = PendingStore(inner)
    store.put(b"a", b"new")
    store.apply()
    assert inner.get(b"a") == b"1"
    store.discard()
    assert store.get(b"a") == b"1"


def test_discard_forgets_what_was_sealed(inner: MemoryStore) -> None:
    """The batch runs again; it must not find its own traces."""
    store = PendingStore(inner)
    store.put(b"a", b"new")
    store.seal(Checkpoint(1, 1))
    store.discard()
    store.apply()
    assert (store.get(b"a"), store.checkpoint) == (b"1", Checkpoint())


def test_queries_see_a_batch_from_its_seal_on(inner: MemoryStore) -> None:
    """Committed means sealed, whether or not the writes have reached the map."""
    store = PendingStore(inner)
    view = CommittedView(store)
    store.put(b"a", b"new")
    assert (view.get(b"a"), dict(view.scan(None, None))[b"a"]) == (b"1", b"1")
    store.seal(Checkpoint(0, 0))
    assert (view.get(b"a"), dict(view.scan(None, None))[b"a"]) == (b"new", b"new")
    store.apply()
    assert view.multi_get([b"a", b"x"]) == [b"new", None]


def test_queries_cannot_write(inner: MemoryStore) -> None:
    """A query that changed the state would change the results."""
    view = CommittedView(PendingStore(inner))
    with pytest.raises(UnsupportedOperationError, match="read-only"):
        view.put(b"a", b"x")


class _Counting(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[bytes] = []

    def get(self, key: bytes) -> bytes | None:
        self.asked.append(key)
        return super().get(key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.asked.extend(keys)
        return super().multi_get(keys)


def _applied(store: PendingStore, batch: int) -> None:
    store.seal(Checkpoint(batch, 0))
    store.apply()


def test_what_the_last_batches_wrote_is_not_read_from_the_map() -> None:
    """A row is written by one batch and read by the next: finding it on disk would cost more."""
    inner = _Counting()
    store = PendingStore(inner)
    store.write([(b"a", b"1"), (b"gone", None)])
    _applied(store, 0)
    inner.asked.clear()
    assert store.multi_get([b"a", b"gone", b"other"]) == [b"1", None, None]
    assert (store.get(b"a"), store.get(b"gone")) == (b"1", None)
    assert inner.asked == [b"other"]


def test_few_known_rows_among_many_are_the_newest_all_the_same() -> None:
    """Whoever asks for many others, too, gets them from the map, but not over what is newer."""
    others = [f"k{n:03}".encode() for n in range(5_000)]
    inner = MemoryStore()
    inner.write([(key, b"old") for key in others])
    store = PendingStore(inner)
    store.write([(b"k007", b"new"), (b"k008", None)])
    expected = [{b"k007": b"new", b"k008": None}.get(key, b"old") for key in others]
    assert store.multi_get(others) == expected
    _applied(store, 0)
    assert store.multi_get(others) == expected


class _Noting(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        noted = list(writes)
        self.written += [key for key, _ in noted]
        super().write(noted, deleted=deleted)


def test_a_batch_reaches_the_map_in_the_order_of_its_keys() -> None:
    """The map takes neighbours in half the time; its checkpoint comes last."""
    inner = _Noting()
    store = PendingStore(inner)
    store.write([(b"c", b"3"), (b"a", b"1")])
    store.put(b"b", None)
    _applied(store, 0)
    assert inner.written[:3] == [b"a", b"b", b"c"]
    assert inner.written == sorted(inner.written)
    assert (inner.get(b"a"), inner.get(b"b"), inner.get(b"c")) == (b"1", None, b"3")


def test_a_flush_is_due_a_minute_after_the_first_batch_that_needs_it() -> None:
    """An idle store is never flushed, and a busy one once a minute."""
    now = [0.0]
    store = PendingStore(MemoryStore(), clock=lambda: now[0])
    now[0] = 1_000.0
    assert not store.is_flush_due()
    _applied(store, 0)
    assert not store.is_flush_due()
    now[0] += 59.0
    _applied(store, 1)
    assert not store.is_flush_due()
    now[0] += 1.0
    assert store.is_flush_due()
    store.persist()
    assert not store.is_flush_due()


class _Refusing(MemoryStore):
    is_closed = False

    def __init__(self) -> None:
        super().__init__()
        self.get = self._refuse  # type: ignore[method-assign,assignment]

    def _refuse(self, key: bytes) -> bytes | None:
        raise StoreError("store-damaged", "a block is damaged")

    def close(self) -> None:
        self.is_closed = True


def test_a_map_whose_checkpoint_cannot_be_read_is_closed() -> None:
    """The caller has to put it aside, which needs it closed."""
    inner = _Refusing()
    with pytest.raises(StoreError, match="store-damaged"):
        PendingStore(inner)
    assert inner.is_closed


def test_a_checkpoint_of_another_length_is_damage() -> None:
    """No offset is guessed from bytes that are not a checkpoint."""
    inner = MemoryStore()
    _applied(PendingStore(inner), 3)
    key, value = next(inner.scan(b"\xff", None))
    inner.put(key, value[:-1])
    with pytest.raises(StoreError, match="store-damaged"):
        PendingStore(inner)


def test_rows_in_memory_go_with_their_range() -> None:
    """A segment that expires takes its rows along, wherever they are kept."""
    store = PendingStore(MemoryStore())
    store.write([(b"a", b"1"), (b"b", b"2")])
    _applied(store, 0)
    store.delete_range(b"a", b"b")
    assert store.multi_get([b"a", b"b"]) == [None, b"2"]
    _applied(store, 1)
    assert store.multi_get([b"a", b"b"]) == [None, b"2"]
    store.wipe()
    assert store.multi_get([b"a", b"b"]) == [None, None]


def test_a_failed_batch_leaves_the_rows_of_those_before() -> None:
    """What is in memory is what the map holds."""
    store = PendingStore(MemoryStore())
    store.put(b"a", b"1")
    _applied(store, 0)
    store.put(b"a", b"2")
    store.discard()
    assert store.get(b"a") == b"1"
