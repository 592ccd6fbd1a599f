"""A session store of bytes: below ``session_store``, and the layer that logs its writes.

Where the bytes live: ``segmented_session`` (persistent), ``time_ordered_session`` (persistent,
for final results) and ``memory_session``. The caching layer: ``cached_session``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from penstock.model.record import RecordContext
from penstock.state.environment import Changelog
from penstock.state.window.window_bytes import ChangelogRecord, KeyRange
from penstock.state.window.window_keys import session_key

#: Key, session start, session end, value.
SessionEntry = tuple[bytes, int, int, bytes]


class SessionBytes(Protocol):
    """Bytes by key, session start and session end. Expired sessions are hidden; None deletes."""

    def put(self, key: bytes, start: int, end: int, value: bytes | None) -> None: ...

    def remove(self, key: bytes, start: int, end: int) -> None: ...

    def get(self, key: bytes, start: int, end: int) -> bytes | None: ...

    def scan(
        self, keys: KeyRange, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> Iterator[SessionEntry]:
        """Yield the sessions that overlap the span (inclusive), in the order of the store."""

    def scan_ending(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        """Yield the sessions of all keys that end in the span, ordered by end time first."""

    def restore(self, records: Iterable[ChangelogRecord]) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class BatchedSessions(SessionBytes, Protocol):
    """Sessions that are also read and written as batches, for ``bulk_sessions``."""

    #: Whether ``scan_ending`` yields sessions with the same end by key, then the latest start
    #: first; else by start, then key.
    ends_by_key: bool

    @property
    def stream_time(self) -> int:
        """Return the latest end of all writes, or -1."""

    def oldest_kept(self, stream_time: int) -> int:
        """Return the first end that ``scan_ending`` still finds after a write at a stream time."""

    def oldest_readable(self, stream_time: int) -> int:
        """Return the first end that is not hidden at a stream time."""

    def entries_of(self, keys: Collection[bytes], earliest_end: int) -> list[SessionEntry]:
        """Return the sessions of these keys that end there or later, each key's as in ``scan``."""

    def put_all(
        self, session_keys: Sequence[bytes], ends: Sequence[int], values: Sequence[bytes | None]
    ) -> None:
        """Write sessions in this order, with the same result as calls of ``put``."""


class LoggedSessions:
    """Logs every put and remove, also of expired sessions, as Kafka Streams does."""

    def __init__(self, inner: SessionBytes, changelog: Changelog, context: RecordContext) -> None:
        self._inner = inner
        self._changelog = changelog
        self._context = context
        self.get = inner.get  # type: ignore[method-assign]

    def put(self, key: bytes, start: int, end: int, value: bytes | None) -> None:
        self._inner.put(key, start, end, value)
        self._changelog.append(session_key(key, start, end), value, self._context.timestamp)

    def remove(self, key: bytes, start: int, end: int) -> None:
        self._inner.remove(key, start, end)
        self._changelog.append(session_key(key, start, end), None, self._context.timestamp)

    def get(self, key: bytes, start: int, end: int) -> bytes | None:
        return self._inner.get(key, start, end)

    def scan(
        self, keys: KeyRange, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> Iterator[SessionEntry]:
        return self._inner.scan(keys, earliest_end, latest_start, reverse=reverse)

    def scan_ending(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        return self._inner.scan_ending(earliest_end, latest_end)

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._inner.restore(records)

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._inner.close()
