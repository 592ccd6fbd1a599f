"""Sessions on disk, by end time. Final results are read from it when sessions close.

Kafka Streams uses this layout for session aggregations that emit on window close.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from penstock.model.time.duration import MAX_LONG
from penstock.state.bytes_store import BytesStore, Write
from penstock.state.engine.segments import Segments
from penstock.state.session.segmented_session import session_bounds
from penstock.state.session.session_bytes import SessionEntry
from penstock.state.window.window_bytes import ChangelogRecord, KeyRange, WindowRules, is_within
from penstock.state.window.window_keys import (
    KEY_FIRST,
    session_key,
    split_session_key,
    split_time_first_session_key,
    time_first_bound,
    time_first_session_key,
)

_BEHIND_KEY_FIRST = b"\x02"


class TimeOrderedSessions:
    """Each value under its time-first key, and an empty entry under its key-first key.

    Invariant: both entries of a session are written and removed together, in one segment.
    """

    ends_by_key = False

    def __init__(self, store: BytesStore, rules: WindowRules) -> None:
        self._rules = rules
        self._segments = Segments(store, rules.retention_ms, rules.segment_interval_ms)

    def put(self, key: bytes, start: int, end: int, value: bytes | None) -> None:
        if not self._segments.write(end, _writes(key, start, end, value)):
            self._rules.expired()

    def remove(self, key: bytes, start: int, end: int) -> None:
        self._segments.remove(end, [data for data, _ in _writes(key, start, end, None)])

    def get(self, key: bytes, start: int, end: int) -> bytes | None:
        if end < self._segments.oldest_readable:
            return None
        return self._segments.get(end, time_first_session_key(key, start, end))

    def scan(
        self, keys: KeyRange, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> Iterator[SessionEntry]:
        segments = self._segments
        earliest_end = max(earliest_end, segments.oldest_readable, 0)
        low, high = session_bounds(keys, earliest_end, segments.stream_time)
        bounds = (
            KEY_FIRST + (low or b""),
            _BEHIND_KEY_FIRST if high is None else KEY_FIRST + high,
        )
        for data, _ in segments.scan(earliest_end, MAX_LONG, bounds, reverse=reverse):
            key, start, end = split_session_key(data[1:])
            if end >= earliest_end and start <= latest_start and is_within(key, keys):
                value = segments.get(end, time_first_session_key(key, start, end))
                if value is not None:
                    yield key, start, end, value

    def scan_ending(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        # Hide nothing: an expired session that is still on disk must be emitted.
        earliest_end = max(earliest_end, 0)
        if latest_end < earliest_end:
            return
        high = KEY_FIRST if latest_end >= MAX_LONG else time_first_bound(latest_end + 1)
        bounds = (time_first_bound(earliest_end), high)
        for data, value in self._segments.scan(earliest_end, latest_end, bounds):
            key, start, end = split_time_first_session_key(data)
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
        """Return the sessions of these keys that end there or later, each key's as in ``scan``."""
        scans = (self.scan((key, key), earliest_end, MAX_LONG) for key in keys)
        return [entry for scan in scans for entry in scan]

    def put_all(
        self, session_keys: Sequence[bytes], ends: Sequence[int], values: Sequence[bytes | None]
    ) -> None:
        """Write sessions in this order, with the same result as calls of ``put``."""
        for data, value in zip(session_keys, values, strict=True):
            self.put(*split_session_key(data), value)

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._segments.write_all(_restored(records))

    def flush(self) -> None:
        self._segments.flush()

    def close(self) -> None:
        self._segments.close()


def _restored(records: Iterable[ChangelogRecord]) -> Iterator[tuple[int, list[Write]]]:
    for data, value, _ in records:
        key, start, end = split_session_key(data)
        yield end, _writes(key, start, end, value)


def _writes(key: bytes, start: int, end: int, value: bytes | None) -> list[Write]:
    return [
        (KEY_FIRST + session_key(key, start, end), None if value is None else b""),
        (time_first_session_key(key, start, end), value),
    ]
