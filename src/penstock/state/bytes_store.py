"""The protocol under every store: an ordered map of bytes. Engines: ``state.engine``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

Entry = tuple[bytes, bytes]
Write = tuple[bytes, bytes | None]
#: The first key of a range, and the key after its last one.
KeyRange = tuple[bytes, bytes]


class BytesStore(Protocol):
    """An ordered map from bytes to bytes, in unsigned byte order."""

    def get(self, key: bytes) -> bytes | None: ...

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes the key."""

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        """Delete the ranges, then apply all writes in order.

        In RocksDB, both are one atomic batch: after a crash, it has all of it or nothing.
        """

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Delete every key in ``[start, end)``."""

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        """Yield the entries of ``[start, end)`` in key order; None is an open bound.

        The scan shows the map as it was at its start, without later writes.
        """

    def approximate_num_entries(self) -> int: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...
