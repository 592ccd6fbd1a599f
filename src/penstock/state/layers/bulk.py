"""Access to the rows of a store for a whole batch, below its cache and without its serdes.

Only the column executors use it. The cache must have no waiting entries meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from struct import Struct
from typing import Any, Protocol

from penstock.state.bytes_store import BytesStore, Entry
from penstock.state.codec import Codec
from penstock.state.environment import Changelog
from penstock.state.window.window_bytes import ALL_KEYS, KeyRange, WindowEntry

_WINDOW_SUFFIX = Struct(">qi").pack


class BulkCache(Protocol):
    """What a bulk store needs from the cache above it."""

    def is_dirty(self) -> bool: ...

    def forget(self) -> None:
        """Drop all entries: they are out of date after the store below has changed."""

    @property
    def put(self) -> Callable[..., None]:
        """Add a key and its row, for windows with the start, as a change of the current record."""


class BatchedWindows(Protocol):
    """The windows of a store, which are read and written as batches."""

    @property
    def stream_time(self) -> int: ...

    @property
    def retention_ms(self) -> int: ...

    def oldest_shown(self, stream_time: int) -> int: ...

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]: ...

    def entries_of(
        self, keys: Collection[bytes], time_from: int, time_to: int
    ) -> list[WindowEntry]: ...

    def keeps(self, first_start: int, last_start: int) -> bool: ...

    def get_all(
        self, window_keys: Sequence[bytes], starts: Sequence[int]
    ) -> list[bytes | None]: ...

    def put_all(
        self, window_keys: Sequence[bytes], values: Sequence[bytes], starts: Sequence[int]
    ) -> None: ...


class CachedRows(BulkCache, Protocol):
    """The cache of windows."""

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]: ...


class DuplicateWindows(Protocol):
    """The windows of a store that keeps every record, which are read and written as batches."""

    none_advances: bool

    @property
    def stream_time(self) -> int: ...

    @property
    def retention_ms(self) -> int: ...

    def entries_of(
        self, keys: Collection[bytes], time_from: int, time_to: int
    ) -> list[tuple[bytes, int, bytes]]: ...

    def put_duplicates(
        self, keys: Sequence[bytes], values: Sequence[bytes | None], starts: Sequence[int]
    ) -> list[bytes]: ...


class _Bulk:
    """What bulk stores share: writes are logged, and the cache drops its entries."""

    def __init__(
        self, changelog: Changelog | None, cache: BulkCache | None, keys: Codec, values: Codec
    ) -> None:
        self._changelog = changelog
        self._cache = cache
        self.keys = keys
        self.values = values

    @property
    def is_cached(self) -> bool:
        return self._cache is not None

    @property
    def hold(self) -> Callable[..., None]:
        """Put a row into the cache, which forwards it at the next flush; see ``BulkCache``."""
        assert self._cache is not None
        return self._cache.put

    @property
    def is_settled(self) -> bool:
        """Return whether the cache has no waiting entries."""
        return self._cache is None or not self._cache.is_dirty()

    def _written(
        self,
        keys: Sequence[bytes],
        rows: Sequence[bytes | None],
        timestamps: Sequence[int],
        values: Sequence[bytes | None] | None,
    ) -> None:
        if self._changelog is not None:
            if values is None:
                values = [None if row is None else row[8:] for row in rows]
            self._changelog.append_all(keys, values, timestamps)
        if self._cache is not None:
            self._cache.forget()


class BulkRows(_Bulk):
    """Rows by key: eight bytes of time, then the value."""

    def __init__(
        self,
        engine: BytesStore,
        changelog: Changelog | None,
        cache: BulkCache | None,
        keys: Codec,
        values: Codec,
    ) -> None:
        super().__init__(changelog, cache, keys, values)
        self._engine = engine

    def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._engine.multi_get(keys)

    def scan(self, start: bytes, end: bytes | None) -> Iterator[Entry]:
        """Yield keys from the first one up to the second one, in their order, and their rows."""
        return self._engine.scan(start, end)

    def write(
        self,
        keys: Sequence[bytes],
        rows: Sequence[bytes | None],
        timestamps: Sequence[int],
        values: Sequence[bytes | None] | None = None,
    ) -> None:
        """Replace rows; None deletes a row. The keys must be different.

        ``values`` are the rows without their times, if the caller has them.
        """
        self._engine.write(zip(keys, rows, strict=True))
        self._written(keys, rows, timestamps, values)


class BulkDuplicates(_Bulk):
    """Records by key and time, for the stores of joined streams. They have no cache."""

    def __init__(
        self, windows: DuplicateWindows, changelog: Changelog | None, keys: Codec, values: Codec
    ) -> None:
        super().__init__(changelog, None, keys, values)
        self._windows = windows
        #: Whether a record without a value lets older ones expire.
        self.none_advances = windows.none_advances

    @property
    def stream_time(self) -> int:
        return self._windows.stream_time

    def oldest_readable(self, stream_time: Any) -> Any:
        """Return the first time that can be read at a stream time, or at each of an array."""
        return stream_time - self._windows.retention_ms + 1

    def read(
        self, keys: Collection[bytes], time_from: int, time_to: int
    ) -> list[tuple[bytes, int, bytes]]:
        """Return key, time and value of the records of these keys, each key's in their order."""
        return self._windows.entries_of(keys, time_from, time_to) if keys else []

    def write(
        self, keys: Sequence[bytes], values: Sequence[bytes | None], times: Sequence[int]
    ) -> None:
        """Add records in this order; a value of None is only logged."""
        stored = self._windows.put_duplicates(keys, values, times)
        self._written(stored, values, times, values)


class BulkWindows(_Bulk):
    """Rows by key and window start."""

    def __init__(
        self,
        windows: BatchedWindows,
        changelog: Changelog | None,
        cache: CachedRows | None,
        keys: Codec,
        values: Codec,
    ) -> None:
        super().__init__(changelog, cache, keys, values)
        self._windows = windows
        self._cached = cache

    def keeps(self, first_start: int, last_start: int) -> bool:
        """Return whether every window between these can be read and written, in any order."""
        return self._windows.keeps(first_start, last_start)

    @property
    def stream_time(self) -> int:
        """Return the start of the newest window that was written, or -1."""
        return self._windows.stream_time

    @property
    def retention_ms(self) -> int:
        return self._windows.retention_ms

    def oldest_shown(self, stream_time: int) -> int:
        """Return the start of the first window that a scan shows at a stream time."""
        return self._windows.oldest_shown(stream_time)

    def between(self, first_start: int, last_start: int) -> Iterator[WindowEntry]:
        """Yield key, start and row of the windows that start in the span, both ends inclusive."""
        windows = self._windows if self._cached is None else self._cached
        return windows.scan(ALL_KEYS, first_start, last_start)

    def of(self, keys: Collection[bytes], first_start: int, last_start: int) -> list[WindowEntry]:
        """Return key, start and row of the windows of these keys that start in the span."""
        return self._windows.entries_of(keys, first_start, last_start)

    def read(self, window_keys: Sequence[bytes], starts: Sequence[int]) -> list[bytes | None]:
        return self._windows.get_all(window_keys, starts)

    def write(
        self,
        window_keys: Sequence[bytes],
        starts: Sequence[int],
        rows: Sequence[bytes],
        timestamps: Sequence[int],
        values: Sequence[bytes] | None = None,
    ) -> None:
        """Replace rows in this order, which decides which rows have expired.

        The window keys must be different. ``values`` are the rows without their
        times, if the caller has them.
        """
        self._windows.put_all(window_keys, rows, starts)
        self._written(window_keys, rows, timestamps, values)

    @staticmethod
    def window_keys(keys: Sequence[bytes], starts: Sequence[int]) -> list[bytes]:
        """Return the keys of windows in the store and in its changelog."""
        suffixes = {start: _WINDOW_SUFFIX(start, 0) for start in set(starts)}
        return [key + suffixes[start] for key, start in zip(keys, starts, strict=True)]
