"""A window store of bytes: below ``window_store``, and the layer that logs its writes.

Where the bytes live: ``segmented_window`` (persistent), ``time_ordered_window`` (persistent, for
final results) and ``memory_window``. The caching layer: ``cached_window``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from penstock.model.record import RecordContext
from penstock.state.environment import Changelog
from penstock.state.window.window_keys import MAX_SEQUENCE, window_key

#: Key, window start, value.
WindowEntry = tuple[bytes, int, bytes]
#: The lowest and the highest key, both included; None is open.
KeyRange = tuple[bytes | None, bytes | None]
ChangelogRecord = tuple[bytes, bytes | None, int]

#: The stored key (key and window start), the value, and the window start. Not for duplicates.
PutStored = Callable[[bytes, bytes | None, int], None]

ALL_KEYS: KeyRange = (None, None)


def _ignore() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRules:
    """The retention of a window store, and the callback for writes that are too old."""

    retention_ms: int
    segment_interval_ms: int
    retain_duplicates: bool
    expired: Callable[[], None] = _ignore


class WindowBytes(Protocol):
    """Bytes by key and window start. Expired entries are hidden; None deletes.

    ``sequence`` numbers duplicates: every put of a store that retains them increases it.
    """

    @property
    def sequence(self) -> int: ...

    def put(self, key: bytes, value: bytes | None, start: int) -> None: ...

    def get(self, key: bytes, start: int) -> bytes | None: ...

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]:
        """Yield the entries that start in the span (inclusive), in the order of the store."""

    def restore(self, records: Iterable[ChangelogRecord]) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


def is_within(key: bytes, keys: KeyRange) -> bool:
    low, high = keys
    return (low is None or key >= low) and (high is None or key <= high)


def next_sequence(sequence: int) -> int:
    return 0 if sequence == MAX_SEQUENCE else sequence + 1


class LoggedWindows:
    """Logs every put, also of expired windows, as Kafka Streams does."""

    def __init__(self, inner: WindowBytes, changelog: Changelog, context: RecordContext) -> None:
        self._inner = inner
        self._changelog = changelog
        self._context = context
        self.get = inner.get  # type: ignore[method-assign]
        put_stored = getattr(inner, "put_stored", None)
        if put_stored is not None:
            self.put_stored = self._putting_stored(put_stored)

    def _putting_stored(self, put: PutStored) -> PutStored:
        append, context = self._changelog.append, self._context

        def put_stored(data: bytes, value: bytes | None, start: int) -> None:
            put(data, value, start)
            append(data, value, context.timestamp)

        return put_stored

    @property
    def sequence(self) -> int:
        return self._inner.sequence

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        self._inner.put(key, value, start)
        logged_key = window_key(key, start, self._inner.sequence)
        self._changelog.append(logged_key, value, self._context.timestamp)

    def get(self, key: bytes, start: int) -> bytes | None:
        return self._inner.get(key, start)

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]:
        return self._inner.scan(keys, time_from, time_to, reverse=reverse)

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._inner.restore(records)

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._inner.close()
