"""Sessions in memory, by end, then key, then start: Kafka Streams' in-memory session store."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from threading import Lock

from sortedcontainers import SortedDict

from penstock.model.time.duration import MAX_LONG
from penstock.state.session.session_bytes import SessionEntry
from penstock.state.window.window_bytes import (
    ALL_KEYS,
    ChangelogRecord,
    KeyRange,
    WindowRules,
    is_within,
)
from penstock.state.window.window_keys import split_session_key

#: The sessions of one end time: by key, then start.
_Slice = dict[bytes, dict[int, bytes]]


class MemorySessions:
    """Sessions by end time. The next call removes expired ones.

    One thread writes; others may read. A scan keeps the slices of its start. ``_ends`` finds the
    sessions of one key.
    """

    ends_by_key = True

    def __init__(self, rules: WindowRules) -> None:
        self._rules = rules
        self._stream_time = -1
        self._slices: SortedDict[int, _Slice] = SortedDict()
        self._ends: dict[bytes, list[int]] = {}
        self._lock = Lock()

    @property
    def stream_time(self) -> int:
        """Return the latest end of all writes, or -1."""
        return self._stream_time

    def oldest_readable(self, stream_time: int) -> int:
        """Return the first end that is not hidden at a stream time."""
        return stream_time - self._rules.retention_ms + 1

    def oldest_kept(self, stream_time: int) -> int:
        """Return the first end that ``scan_ending`` still finds after a write at a stream time."""
        return self.oldest_readable(stream_time)

    @property
    def _oldest_readable(self) -> int:
        return self.oldest_readable(self._stream_time)

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

    def put(self, key: bytes, start: int, end: int, value: bytes | None) -> None:
        if not self._put(key, start, end, value):
            self._rules.expired()

    def _put(self, key: bytes, start: int, end: int, value: bytes | None) -> bool:
        self._stream_time = max(self._stream_time, end)
        if value is None and end >= self._oldest_readable:
            self.remove(key, start, end)
            return True
        with self._lock:
            self._drop_expired()
            if end < self._oldest_readable or value is None:
                return False
            by_key = self._slices.setdefault(end, {})
            if key not in by_key:
                by_key[key] = {}
                insort(self._ends.setdefault(key, []), end)
            by_key[key][start] = value
        return True

    def remove(self, key: bytes, start: int, end: int) -> None:
        with self._lock:
            by_key = self._slices.get(end)
            if by_key is None or key not in by_key:
                return
            by_key[key].pop(start, None)
            if not by_key[key]:
                del by_key[key]
                self._forget_end(key, end)
            if not by_key:
                del self._slices[end]

    def _forget_end(self, key: bytes, end: int) -> None:
        ends = self._ends[key]
        del ends[bisect_left(ends, end)]
        if not ends:
            del self._ends[key]

    def _drop_expired(self) -> None:
        oldest = self._oldest_readable
        while self._slices and self._slices.peekitem(0)[0] < oldest:
            end, by_key = self._slices.popitem(0)
            for key in by_key:
                self._forget_end(key, end)

    def get(self, key: bytes, start: int, end: int) -> bytes | None:
        if end < self._oldest_readable:
            return None
        return self._slices.get(end, {}).get(key, {}).get(start)

    def scan(
        self, keys: KeyRange, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> Iterator[SessionEntry]:
        low, high = keys
        with self._lock:
            self._drop_expired()
            ends: Iterable[int]
            if low is not None and low == high:
                of_key = self._ends.get(low, [])
                ends = of_key[bisect_left(of_key, earliest_end) :]
                ends = ends[::-1] if reverse else ends
            else:
                ends = self._slices.irange(earliest_end, None, reverse=reverse)
            slices = [(end, self._slices[end]) for end in ends]
        return self._of_slices(slices, keys, latest_start, reverse)

    def scan_ending(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        with self._lock:
            self._drop_expired()
            ends = self._slices.irange(earliest_end, latest_end)
            slices = [(end, self._slices[end]) for end in ends]
        return self._of_slices(slices, ALL_KEYS, MAX_LONG, False)

    def _of_slices(
        self, slices: list[tuple[int, _Slice]], keys: KeyRange, latest_start: int, reverse: bool
    ) -> Iterator[SessionEntry]:
        for end, by_key in slices:
            with self._lock:
                found = _in_order(end, by_key, keys, latest_start)
            yield from reversed(found) if reverse else found

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        for data, value, _ in records:
            key, start, end = split_session_key(data)
            # A removal did not advance time when it was logged, so it must not do so now.
            if value is None:
                self.remove(key, start, end)
            else:
                self._put(key, start, end, value)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        with self._lock:
            self._slices.clear()
            self._ends.clear()


def _in_order(end: int, by_key: _Slice, keys: KeyRange, latest_start: int) -> list[SessionEntry]:
    # Of sessions with the same end, Kafka Streams returns the latest start first.
    low, high = keys
    wanted = [low] if low is not None and low == high else sorted(by_key)
    return [
        (key, start, end, by_key[key][start])
        for key in wanted
        if key in by_key and is_within(key, keys)
        for start in sorted(by_key[key], reverse=True)
        if start <= latest_start
    ]
