"""Sessions on disk, by segment, then key, then end: Kafka Streams' default session store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from penstock.model.time.duration import MAX_LONG
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.segments import Bounds, Segments
from penstock.state.session.session_bytes import SessionEntry
from penstock.state.window.window_bytes import (
    ChangelogRecord,
    KeyRange,
    WindowRules,
    is_within,
)
from penstock.state.window.window_keys import (
    SESSION_SUFFIX_SIZE,
    after,
    highest_session_key,
    session_key,
    session_key_time,
    split_session_key,
)

#: A scan of all keys reads an entry in the tenth part of the time that a scan of one key takes to
#: begin.
_SCANNED_PER_KEY = 10


class SegmentedSessions:
    """Sessions in segments of their end time. A write is too old when its segment has expired."""

    ends_by_key = False

    def __init__(self, store: BytesStore, rules: WindowRules) -> None:
        self._rules = rules
        self._segments = Segments(store, rules.retention_ms, rules.segment_interval_ms)

    def put(self, key: bytes, start: int, end: int, value: bytes | None) -> None:
        if not self._segments.put(end, session_key(key, start, end), value):
            self._rules.expired()

    def remove(self, key: bytes, start: int, end: int) -> None:
        self._segments.remove(end, (session_key(key, start, end),))

    def get(self, key: bytes, start: int, end: int) -> bytes | None:
        if end < self._segments.oldest_readable:
            return None
        return self._segments.get(end, session_key(key, start, end))

    def scan(
        self, keys: KeyRange, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> Iterator[SessionEntry]:
        earliest_end = max(earliest_end, self._segments.oldest_readable, 0)
        bounds = session_bounds(keys, earliest_end, self._segments.stream_time)
        for data, value in self._segments.scan(earliest_end, MAX_LONG, bounds, reverse=reverse):
            key, start, end = split_session_key(data)
            if end >= earliest_end and start <= latest_start and is_within(key, keys):
                yield key, start, end, value

    def scan_ending(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        """Yield sessions by end, start and key. This reads whole segments."""
        found = []
        for data, value in self._segments.scan(earliest_end, latest_end):
            key, start, end = split_session_key(data)
            if earliest_end <= end <= latest_end:
                found.append((end, start, key, value))
        for end, start, key, value in sorted(found):
            yield key, start, end, value

    @property
    def stream_time(self) -> int:
        """Return the latest end of all writes, or -1."""
        return self._segments.stream_time

    def oldest_readable(self, stream_time: int) -> int:
        """Return the first end that is not hidden at a stream time."""
        return stream_time - self._rules.retention_ms + 1

    def oldest_kept(self, stream_time: int) -> int:
        """Return the first end that ``scan_ending`` still finds after a write at a stream time."""
        return self._segments.oldest_kept(stream_time)

    def entries_of(self, keys: Collection[bytes], earliest_end: int) -> list[SessionEntry]:
        """Return the sessions of these keys that end there or later, each key's as in ``scan``.

        Between two keys, the order is that of the store or any other.
        """
        earliest_end = max(earliest_end, self._segments.oldest_readable, 0)
        found: list[SessionEntry] = []
        at_most = _SCANNED_PER_KEY * len(keys)
        for number, (data, value) in enumerate(self._segments.scan(earliest_end, MAX_LONG)):
            if number == at_most:
                scans = (self.scan((key, key), earliest_end, MAX_LONG) for key in keys)
                return [entry for scan in scans for entry in scan]
            if data[:-SESSION_SUFFIX_SIZE] in keys:
                key, start, end = split_session_key(data)
                if end >= earliest_end:
                    found.append((key, start, end, value))
        return found

    def put_all(
        self, session_keys: Sequence[bytes], ends: Sequence[int], values: Sequence[bytes | None]
    ) -> None:
        """Write sessions in this order, with the same result as calls of ``put``."""
        for _ in range(self._segments.put_all(ends, session_keys, values)):
            self._rules.expired()

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._segments.write_all(
            (session_key_time(data), [(data, value)]) for data, value, _ in records
        )

    def flush(self) -> None:
        self._segments.flush()

    def close(self) -> None:
        self._segments.close()


def session_bounds(keys: KeyRange, earliest_end: int, latest_end: int) -> Bounds:
    """Return bounds inside a segment that include all wanted sessions.

    ``latest_end`` is the end of the last session. With it, the bounds exclude sessions of longer
    keys that begin with the wanted key.
    """
    low, high = keys
    if low is not None and low == high:
        return session_key(low, 0, earliest_end), after(session_key(low, MAX_LONG, latest_end))
    return low, None if high is None else after(highest_session_key(high, latest_end))
