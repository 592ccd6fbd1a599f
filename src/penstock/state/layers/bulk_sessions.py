"""Access to the sessions of a store for a whole batch, below its cache and without its serdes.

Only the column executors use it. Other stores have ``bulk``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from penstock.state.codec import Codec
from penstock.state.environment import Changelog
from penstock.state.layers.cached_session import CachedSessions
from penstock.state.session.session_bytes import BatchedSessions, SessionEntry


class Ended(Protocol):
    """A session, by the bytes of its key."""

    @property
    def key(self) -> bytes: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


S = TypeVar("S", bound=Ended)


class BulkSessions:
    """Values by key, session start and session end."""

    def __init__(
        self,
        sessions: BatchedSessions,
        changelog: Changelog | None,
        cache: CachedSessions | None,
        keys: Codec,
        values: Codec,
    ) -> None:
        self._sessions = sessions
        self._changelog = changelog
        self._cache = cache
        self.keys = keys
        self.values = values

    @property
    def is_cached(self) -> bool:
        return self._cache is not None

    @property
    def is_settled(self) -> bool:
        """Return whether the cache has no waiting entries."""
        return self._cache is None or not self._cache.is_dirty()

    @property
    def hold(self) -> Callable[[bytes, int, int, bytes | None], None]:
        """Put a session into the cache, which forwards it at the next flush."""
        assert self._cache is not None
        return self._cache.put

    @property
    def stream_time(self) -> int:
        """Return the latest end of all sessions that were written, or -1."""
        return self._sessions.stream_time

    def oldest_readable(self, stream_time: int) -> int:
        """Return the first end that the store shows at a stream time; a cache may show others."""
        return self._sessions.oldest_readable(stream_time)

    def read(self, keys: Collection[bytes], earliest_end: int) -> list[SessionEntry]:
        """Return key, start, end and value of the sessions that end there or later."""
        return self._sessions.entries_of(keys, earliest_end)

    def read_hidden(self, keys: Collection[bytes], earliest_end: int) -> list[SessionEntry]:
        """Return the sessions that the store hides as too old, but its cache does not."""
        before = self.oldest_readable(self.stream_time)
        if self._cache is None or earliest_end >= before:
            return []
        return self._cache.flushed_of(keys, earliest_end, before)

    def ending(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        """Yield the sessions of all keys that end in the span."""
        return self._sessions.scan_ending(earliest_end, latest_end)

    def oldest_kept(self, stream_time: int) -> int:
        """Return the first end that ``ending`` still finds at a stream time."""
        return self._sessions.oldest_kept(stream_time)

    def in_ending_order(self, sessions: Iterable[S]) -> list[S]:
        """Sort sessions as the store does that yields them by their ends."""
        if self._sessions.ends_by_key:
            return sorted(sessions, key=lambda each: (each.end, each.key, -each.start))
        return sorted(sessions, key=lambda each: (each.end, each.start, each.key))

    def forget(self, session_keys: Sequence[bytes], ends: Sequence[int]) -> None:
        """Drop sessions from the cache, which has no waiting entries, but not from the store."""
        if self._cache is not None:
            self._cache.keep_flushed(session_keys, ends, [None] * len(ends))

    def write(
        self,
        session_keys: Sequence[bytes],
        ends: Sequence[int],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        """Write sessions in this order; None removes a session."""
        if not session_keys:
            return
        self._sessions.put_all(session_keys, ends, values)
        if self._changelog is not None:
            self._changelog.append_all(session_keys, values, timestamps)
        if self._cache is not None:
            self._cache.keep_flushed(session_keys, ends, values)
