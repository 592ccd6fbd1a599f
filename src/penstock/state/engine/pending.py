"""Keeps the writes of a batch in memory until the batch is committed.

RocksDB never has an uncommitted batch. A batch may have to run again until its commit is certain,
so its writes are applied only then.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import repeat
from time import monotonic
from typing import Any, NamedTuple

from penstock.errors import StoreError, UnsupportedOperationError
from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.engine.checkpoint_row import (
    CHECKPOINT_KEY,
    scan_rows,
    stored_key,
    stored_range,
)
from penstock.state.engine.closed import cut_off
from penstock.state.engine.damaged import DAMAGED
from penstock.state.engine.overlay import overlaid
from penstock.state.engine.recent import UNKNOWN, RecentRows
from penstock.state.engine.sorted_keys import SortedKeys

_FORMAT = struct.Struct(">qq")
#: From so many deleted ranges on, the keys of a batch are sorted.
_FEW_RANGES = 8
#: How long applied batches may wait for a flush, in seconds.
_FLUSH_AFTER_S = 60.0


class Checkpoint(NamedTuple):
    """The last batch in the map, and the offset up to which its changelog is applied."""

    batch: int = -1
    changelog_offset: int = 0


class PendingStore:
    """A ``BytesStore`` whose writes stay in memory until ``seal`` and ``apply``.

    Rows of the last batches stay in memory longer: most batches read rows of earlier batches, and
    reading them from RocksDB takes five times as long.

    Invariant: ``inner`` has exactly the batches up to its checkpoint.

    It owns ``inner``, and closes it if its checkpoint cannot be read.
    """

    def __init__(self, inner: BytesStore, *, clock: Callable[[], float] = monotonic) -> None:
        self._inner = inner
        self._clock = clock
        #: The time at which the first batch after the last flush was applied; None if there is
        #: none.
        self._unflushed_since: float | None = None
        self._writes: dict[bytes, bytes | None] = {}
        #: The keys of the writes in order; None until the order is needed.
        self._keys: SortedKeys | None = None
        self._recent = RecentRows()
        self._ranges: list[KeyRange] = []
        self._sealed: Checkpoint | None = None
        self._is_closed = False
        try:
            self.checkpoint = _read_checkpoint(inner)
        except StoreError:
            # The caller cannot close the database, and a damaged one must be closed before it is
            # moved.
            with suppress(StoreError):
                inner.close()
            raise

    # The batch's view

    def get(self, key: bytes) -> bytes | None:
        row = self._writes.get(key, UNKNOWN)
        if row is UNKNOWN:
            if self._ranges and self._is_deleted(key):
                return None
            row = self._recent.get(key)
        return self._inner.get(stored_key(key)) if row is UNKNOWN else row

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if not self._writes and not self._ranges:
            return self._applied(keys)
        rows: list[Any] = [*map(self._writes.get, keys, repeat(UNKNOWN))]
        if self._ranges:
            pairs = zip(keys, rows, strict=True)
            rows = [None if row is UNKNOWN and self._is_deleted(k) else row for k, row in pairs]
        return _filled(rows, keys, self._applied)

    def _applied(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return rows as they are before the batch."""
        if self._recent.has_few_of(keys):
            return self._stored(keys)
        return _filled(self._recent.get_all(keys), keys, self._stored)

    def _stored(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if keys and max(keys) >= CHECKPOINT_KEY:
            keys = [*map(stored_key, keys)]
        return self._inner.multi_get(keys)

    def put(self, key: bytes, value: bytes | None) -> None:
        if self._keys is not None and key not in self._writes:
            self._keys.add(key)
        self._writes[key] = value

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        for start, end in deleted:
            self.delete_range(start, end)
        if self._keys is None:
            self._writes.update(writes)
            return
        batch = dict(writes)
        self._keys.add_all(batch.keys() - self._writes.keys())
        self._writes.update(batch)

    def delete_range(self, start: bytes, end: bytes) -> None:
        if self._keys is None and len(self._ranges) < _FEW_RANGES:
            # Looking at every key once costs less than sorting them.
            for key in [key for key in self._writes if start <= key < end]:
                del self._writes[key]
        else:
            keys = self._ordered()
            for key in keys.between(start, end):
                keys.remove(key)
                del self._writes[key]
        self._ranges.append((start, end))

    def _ordered(self) -> SortedKeys:
        if self._keys is None:
            self._keys = SortedKeys()
            self._keys.add_all(set(self._writes))
        return self._keys

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        keys = list(self._ordered().between(start, end))
        over = [(key, self._writes[key]) for key in (reversed(keys) if reverse else keys)]
        under = scan_rows(self._inner, start, end, reverse=reverse)
        if self._ranges:
            ranges = list(self._ranges)
            under = (e for e in under if not any(a <= e[0] < b for a, b in ranges))
        return overlaid(self._until_closed(over), under, reverse=reverse)

    def _until_closed(self, writes: list[Write]) -> Iterator[Write]:
        for write in writes:
            if self._is_closed:
                raise cut_off()
            yield write

    def properties(self) -> dict[str, float]:
        """Return what the database says about itself; nothing if it is a map in memory."""
        properties: Callable[[], dict[str, float]] | None = getattr(self._inner, "properties", None)
        return {} if properties is None else properties()

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries() + len(self._writes)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        self._is_closed = True
        self._recent.clear()
        self._inner.close()

    # The batch's end

    def seal(self, checkpoint: Checkpoint) -> None:
        """Mark the writes as committed; ``apply`` then moves them into the map."""
        self._sealed = checkpoint

    @property
    def sealed(self) -> Checkpoint | None:
        return self._sealed

    def apply(self) -> None:
        """Move the sealed writes into the map, together with their checkpoint, as one batch.

        In RocksDB, they survive ``kill -9`` from then on. Without ``seal``, this does nothing.
        """
        if self._sealed is None:
            return
        checkpoint = self._sealed
        writes = [*_in_order(self._writes), (CHECKPOINT_KEY, _FORMAT.pack(*checkpoint))]
        # The range may contain the checkpoint, which is written again behind it.
        self._inner.write(writes, deleted=[*map(stored_range, self._ranges)])
        self.checkpoint = checkpoint
        if self._unflushed_since is None:
            self._unflushed_since = self._clock()
        for start, end in self._ranges:
            self._recent.delete_range(start, end)
        self._recent.add(self._writes)
        self.discard()

    def discard(self) -> None:
        """Drop the writes: the batch has failed, or has been applied."""
        self._writes = {}
        self._keys = None
        self._ranges.clear()
        self._sealed = None

    def wipe(self) -> None:
        """Empty the map: its changelog does not exist any more."""
        self.discard()
        self._recent.clear()
        last = next(iter(self._inner.scan(None, None, reverse=True)), None)
        if last is not None:
            self._inner.delete_range(b"", last[0] + b"\0")
        self.checkpoint = Checkpoint()

    def is_flush_due(self) -> bool:
        """Return whether a batch was applied a minute ago and has not been flushed.

        ``kill -9`` loses nothing that was applied. A flush limits what a power cut can lose. A
        flush per second would be too often: each one writes a file and waits for the disk, in every
        store of every task.
        """
        since = self._unflushed_since
        return since is not None and self._clock() - since >= _FLUSH_AFTER_S

    def persist(self) -> None:
        """Flush the applied batches to disk, so that they survive a power cut."""
        self._inner.flush()
        self._unflushed_since = None

    # The committed view, for queries from other threads

    def committed_get(self, key: bytes) -> bytes | None:
        return self.get(key) if self._sealed is not None else self._inner.get(stored_key(key))

    def committed_scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        if self._sealed is not None:
            return self.scan(start, end, reverse=reverse)
        return scan_rows(self._inner, start, end, reverse=reverse)

    def _is_deleted(self, key: bytes) -> bool:
        return any(start <= key < end for start, end in self._ranges)


def _filled(
    rows: list[Any], keys: Sequence[bytes], read: Callable[[Sequence[bytes]], list[Any]]
) -> list[Any]:
    """Return the rows, with unknown ones read from the map."""
    unknown = [key for key, row in zip(keys, rows, strict=True) if row is UNKNOWN]
    if not unknown:
        return rows
    found = read(unknown)
    if len(unknown) == len(rows):
        return found
    missing = iter(found)
    return [next(missing) if row is UNKNOWN else row for row in rows]


def _in_order(writes: dict[bytes, bytes | None]) -> Iterable[Write]:
    """Return the writes for the map sorted by key, which it applies in half the time."""
    keys = list(writes)
    ordered = sorted(keys)
    if ordered and ordered[-1] >= CHECKPOINT_KEY:
        return [(stored_key(key), writes[key]) for key in ordered]
    if keys == ordered:
        return writes.items()
    return [(key, writes[key]) for key in ordered]


def _read_checkpoint(inner: BytesStore) -> Checkpoint:
    data = inner.get(CHECKPOINT_KEY)
    if data is None:
        return Checkpoint()
    if len(data) != _FORMAT.size:
        raise StoreError(
            DAMAGED,
            f"the checkpoint of a store has {len(data)} bytes instead of {_FORMAT.size}",
            fix="start again: the database is put aside and the store is restored from its"
            " changelog",
        )
    return Checkpoint(*_FORMAT.unpack(data))


class CommittedView:
    """The committed part of a pending store, read-only: a ``BytesStore`` for queries."""

    def __init__(self, store: PendingStore) -> None:
        self._store = store

    def get(self, key: bytes) -> bytes | None:
        return self._store.committed_get(key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def put(self, key: bytes, value: bytes | None) -> None:
        raise _read_only()

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        raise _read_only()

    def delete_range(self, start: bytes, end: bytes) -> None:
        raise _read_only()

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        return self._store.committed_scan(start, end, reverse=reverse)

    def approximate_num_entries(self) -> int:
        return self._store.approximate_num_entries()

    def flush(self) -> None:
        return None

    def close(self) -> None:
        return None


def _read_only() -> UnsupportedOperationError:
    return UnsupportedOperationError(
        "read-only-store", "queries cannot write to a store", "write through the topology"
    )
