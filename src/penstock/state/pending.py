"""Writes that wait for their batch to be committed, on top of the committed map.

RocksDB never holds an uncommitted batch: a batch writes here, and what it wrote is applied only
when the next batch begins, because until then the batch may have to run again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from penstock.errors import UnsupportedOperationError
from penstock.state.bytes_store import BytesStore, Entry, Write
from penstock.state.closed import cut_off
from penstock.state.overlay import overlaid
from penstock.state.sorted_keys import SortedKeys

#: Keys from here on belong to the store itself; no serde makes a key of 24 bytes 0xff.
RESERVED = b"\xff" * 24
_CHECKPOINT = RESERVED + b"checkpoint"
_FORMAT = struct.Struct(">qq")


class Checkpoint(NamedTuple):
    """Which batch the map holds, and up to where its changelog has been applied."""

    batch: int = -1
    changelog_offset: int = 0


class PendingStore:
    """A ``BytesStore`` whose writes stay in memory until ``seal`` and ``apply``.

    Invariant: ``inner`` holds exactly the batch that its checkpoint names.
    """

    def __init__(self, inner: BytesStore) -> None:
        self._inner = inner
        self._writes: dict[bytes, bytes | None] = {}
        self._keys = SortedKeys()
        self._ranges: list[tuple[bytes, bytes]] = []
        self._sealed: Checkpoint | None = None
        self._is_closed = False
        self.checkpoint = _read_checkpoint(inner)

    # The batch's view

    def get(self, key: bytes) -> bytes | None:
        try:
            return self._writes[key]
        except KeyError:
            if self._ranges and self._is_deleted(key):
                return None
            return self._inner.get(key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if not self._writes and not self._ranges:
            return self._inner.multi_get(keys)
        missing = [k for k in keys if k not in self._writes and not self._is_deleted(k)]
        found = dict(zip(missing, self._inner.multi_get(missing), strict=True))
        return [self._writes.get(key) if key in self._writes else found.get(key) for key in keys]

    def put(self, key: bytes, value: bytes | None) -> None:
        if key not in self._writes:
            self._keys.add(key)
        self._writes[key] = value

    def write(self, writes: Iterable[Write]) -> None:
        batch = dict(writes)
        self._keys.add_all(batch.keys() - self._writes.keys())
        self._writes.update(batch)

    def delete_range(self, start: bytes, end: bytes) -> None:
        for key in self._keys.between(start, end):
            self._keys.remove(key)
            del self._writes[key]
        self._ranges.append((start, end))

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        keys = list(self._keys.between(start, end))
        over = [(key, self._writes[key]) for key in (reversed(keys) if reverse else keys)]
        under = self._inner.scan(start, _below_reserved(end), reverse=reverse)
        if self._ranges:
            ranges = list(self._ranges)
            under = (e for e in under if not any(a <= e[0] < b for a, b in ranges))
        return overlaid(self._until_closed(over), under, reverse=reverse)

    def _until_closed(self, writes: list[Write]) -> Iterator[Write]:
        for write in writes:
            if self._is_closed:
                raise cut_off()
            yield write

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries() + len(self._writes)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        self._is_closed = True
        self._inner.close()

    # The batch's end

    def seal(self, checkpoint: Checkpoint) -> None:
        """Marks what was written as committed; ``apply`` will move it into the map."""
        self._sealed = checkpoint

    @property
    def sealed(self) -> Checkpoint | None:
        return self._sealed

    def apply(self) -> None:
        """Moves the sealed writes into the map, together with their checkpoint."""
        if self._sealed is None:
            return
        for start, end in self._ranges:
            self._inner.delete_range(start, end)
        checkpoint = self._sealed
        self._inner.write([*self._writes.items(), (_CHECKPOINT, _FORMAT.pack(*checkpoint))])
        self.checkpoint = checkpoint
        self.discard()

    def discard(self) -> None:
        """Forgets the writes: the batch failed, or has been applied."""
        self._writes.clear()
        self._keys.clear()
        self._ranges.clear()
        self._sealed = None

    def wipe(self) -> None:
        """Empties the map: it belongs to a changelog that no longer exists."""
        self.discard()
        self._inner.delete_range(b"", RESERVED + b"\xff")
        self.checkpoint = Checkpoint()

    def persist(self) -> None:
        """Brings the applied part to disk, so that it survives the end of the process."""
        self._inner.flush()

    # The committed view, for queries from other threads

    def committed_get(self, key: bytes) -> bytes | None:
        return self.get(key) if self._sealed is not None else self._inner.get(key)

    def committed_scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        if self._sealed is not None:
            return self.scan(start, end, reverse=reverse)
        return self._inner.scan(start, _below_reserved(end), reverse=reverse)

    def _is_deleted(self, key: bytes) -> bool:
        return any(start <= key < end for start, end in self._ranges)


def _below_reserved(end: bytes | None) -> bytes:
    return RESERVED if end is None or end > RESERVED else end


def _read_checkpoint(inner: BytesStore) -> Checkpoint:
    data = inner.get(_CHECKPOINT)
    return Checkpoint() if data is None else Checkpoint(*_FORMAT.unpack(data))


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

    def write(self, writes: Iterable[Write]) -> None:
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
