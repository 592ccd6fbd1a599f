"""Window entries in memory, by time, then key: Kafka Streams' in-memory window store."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from threading import Lock

from sortedcontainers import SortedDict

from penstock.state.window.window_bytes import (
    ChangelogRecord,
    KeyRange,
    WindowEntry,
    WindowRules,
    is_within,
    next_sequence,
)
from penstock.state.window.window_keys import split_window_key, window_key

#: The values of one window start by key; several per key only if duplicates are retained.
_Slice = dict[bytes, list[bytes]]


class MemoryWindows:
    """Window entries by start time. The next call removes expired ones.

    One thread writes; others may read. A scan keeps the slices of its start, so it still shows
    entries that expire meanwhile. ``_starts`` finds the windows of one key.
    """

    #: Whether a put of None, in a store with duplicates, lets older entries expire.
    none_advances = True

    def __init__(self, rules: WindowRules) -> None:
        self.sequence = 0
        self._rules = rules
        self._stream_time = -1
        self._slices: SortedDict[int, _Slice] = SortedDict()
        self._starts: dict[bytes, list[int]] = {}
        self._lock = Lock()

    @property
    def stream_time(self) -> int:
        """Return the highest time of all writes, or -1."""
        return self._stream_time

    @property
    def retention_ms(self) -> int:
        return self._rules.retention_ms

    def oldest_shown(self, stream_time: int) -> int:
        """Return the first start that can be read at a stream time."""
        return stream_time - self._rules.retention_ms + 1

    @property
    def _oldest_readable(self) -> int:
        return self.oldest_shown(self._stream_time)

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        if not self._put(key, value, start):
            self._rules.expired()

    def _put(self, key: bytes, value: bytes | None, start: int) -> bool:
        keeps_all = self._rules.retain_duplicates
        if keeps_all:
            self.sequence = next_sequence(self.sequence)
        self._stream_time = max(self._stream_time, start)
        with self._lock:
            self._drop_expired()
            if start < self._oldest_readable:
                return False
            if value is not None:
                self._insert(key, value, start, keeps_all)
            elif not keeps_all:
                self._delete(key, start)
        return True

    def _insert(self, key: bytes, value: bytes, start: int, keeps_all: bool) -> None:
        values = self._slices.setdefault(start, {}).get(key)
        if values is None:
            self._slices[start][key] = [value]
            insort(self._starts.setdefault(key, []), start)
        elif keeps_all:
            values.append(value)
        else:
            values[0] = value

    def _delete(self, key: bytes, start: int) -> None:
        entries = self._slices.get(start)
        if entries is not None and entries.pop(key, None) is not None:
            self._forget_start(key, start)
            if not entries:
                del self._slices[start]

    def _forget_start(self, key: bytes, start: int) -> None:
        starts = self._starts[key]
        del starts[bisect_left(starts, start)]
        if not starts:
            del self._starts[key]

    def _drop_expired(self) -> None:
        oldest = self._oldest_readable
        while self._slices and self._slices.peekitem(0)[0] < oldest:
            start, entries = self._slices.popitem(0)
            for key in entries:
                self._forget_start(key, start)

    def get(self, key: bytes, start: int) -> bytes | None:
        # With duplicates, Kafka Streams does not return a single value.
        if start < self._oldest_readable or self._rules.retain_duplicates:
            return None
        values = self._slices.get(start, {}).get(key)
        return None if values is None else values[0]

    def keeps(self, first_start: int, last_start: int) -> bool:
        """Return whether windows between these stay readable after writes in any order."""
        newest = max(self._stream_time, last_start)
        return not self._rules.retain_duplicates and first_start > newest - self._rules.retention_ms

    def get_all(self, window_keys: Sequence[bytes], starts: Sequence[int]) -> list[bytes | None]:
        """Read many windows as ``get`` does."""
        pairs = zip(window_keys, starts, strict=True)
        return [self.get(split_window_key(data)[0], start) for data, start in pairs]

    def put_all(
        self, window_keys: Sequence[bytes], values: Sequence[bytes], starts: Sequence[int]
    ) -> None:
        """Write different windows, with the same result as calls of ``put`` in this order."""
        for data, value, start in zip(window_keys, values, starts, strict=True):
            self.put(split_window_key(data)[0], value, start)

    def entries_of(
        self, keys: Collection[bytes], time_from: int, time_to: int
    ) -> list[WindowEntry]:
        """Return the entries of these keys as ``scan`` finds them for each key."""
        return [each for key in keys for each in self.scan((key, key), time_from, time_to)]

    def put_duplicates(
        self, keys: Sequence[bytes], values: Sequence[bytes | None], starts: Sequence[int]
    ) -> list[bytes]:
        """Write entries with ``put``, in this order; return their logged keys."""
        stored = []
        for key, value, start in zip(keys, values, starts, strict=True):
            self.put(key, value, start)
            stored.append(window_key(key, start, self.sequence))
        return stored

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]:
        time_from = max(time_from, self._oldest_readable)
        if time_to < time_from:
            return iter(())
        low, high = keys
        with self._lock:
            self._drop_expired()
            if low is not None and low == high:
                return iter(self._of_key(low, time_from, time_to, reverse))
            slices = [
                (start, self._slices[start])
                for start in self._slices.irange(time_from, time_to, reverse=reverse)
            ]
        return self._of_slices(slices, keys, reverse)

    def _of_key(self, key: bytes, time_from: int, time_to: int, reverse: bool) -> list[WindowEntry]:
        starts = self._starts.get(key, [])
        found = starts[bisect_left(starts, time_from) : bisect_right(starts, time_to)]
        entries = [(key, start, value) for start in found for value in self._slices[start][key]]
        return entries[::-1] if reverse else entries

    def _of_slices(
        self, slices: list[tuple[int, _Slice]], keys: KeyRange, reverse: bool
    ) -> Iterator[WindowEntry]:
        for start, entries in slices:
            with self._lock:
                found = [
                    (key, start, value)
                    for key in sorted(entries)
                    if is_within(key, keys)
                    for value in entries[key]
                ]
            yield from reversed(found) if reverse else found

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        for data, value, _ in records:
            key, start, sequence = split_window_key(data)
            self._put(key, value, start)
            self.sequence = max(self.sequence, sequence)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        with self._lock:
            self._slices.clear()
            self._starts.clear()
