"""The protocol under every store: an ordered map of bytes. Engines: ``state.engine``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

Entry = tuple[bytes, bytes]
Write = tuple[bytes, bytes | None]
#: The first key of a range, and the one behind its last.
KeyRange = tuple[bytes, bytes]


class BytesStore(Protocol):
    """An ordered map from bytes to bytes, by unsigned byte order. Knows no types, no topics."""

    def get(self, key: bytes) -> bytes | None: ...

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def put(self, key: bytes, value: bytes | None) -> None:
        """Sets the value; None deletes the key."""

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        """Deletes the ranges, then applies all writes in order.

        RocksDB does both as one atomic batch: after a crash it has all of it or nothing.
        """

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Deletes every key in ``[start, end)``."""

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        """Yields the entries of ``[start, end)`` in key order; None is an open bound.

        Sees the map as it was when the iteration began; later writes do not disturb it.
        """

    def approximate_num_entries(self) -> int: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...
