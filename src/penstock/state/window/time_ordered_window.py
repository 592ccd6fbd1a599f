"""Window entries on disk, by time, then key. Final results are read from it.

Kafka Streams uses this layout for windowed aggregations that emit on window close.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from penstock.model.time.duration import MAX_LONG
from penstock.state.bytes_store import BytesStore, Write
from penstock.state.engine.segments import Segments
from penstock.state.window.window_bytes import (
    ChangelogRecord,
    KeyRange,
    WindowEntry,
    WindowRules,
    is_within,
    next_sequence,
)
from penstock.state.window.window_keys import (
    KEY_FIRST,
    MAX_SEQUENCE,
    after,
    split_time_first_window_key,
    split_window_key,
    time_first_bound,
    time_first_window_key,
    window_key,
)


class TimeOrderedWindows:
    """Each value under its time-first key, and an empty entry under its key-first key.

    Invariant: both entries of a record are written and removed together, in one segment.
    """

    def __init__(self, store: BytesStore, rules: WindowRules) -> None:
        self._rules = rules
        self._segments = Segments(store, rules.retention_ms, rules.segment_interval_ms)

    @property
    def sequence(self) -> int:
        return self._segments.sequence

    @property
    def stream_time(self) -> int:
        """Return the highest time of all writes, or -1."""
        return self._segments.stream_time

    @property
    def retention_ms(self) -> int:
        return self._rules.retention_ms

    def oldest_shown(self, stream_time: int) -> int:
        """Return the first start that can be read at a stream time."""
        # One millisecond more than in other window stores. Otherwise, with a retention equal to the
        # grace period, a window would be hidden in the moment in which it closes.
        return stream_time - self._rules.retention_ms

    @property
    def _oldest_readable(self) -> int:
        return self.oldest_shown(self._segments.stream_time)

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        segments = self._segments
        if self._rules.retain_duplicates:
            segments.sequence = next_sequence(segments.sequence)
            if value is None:
                return
        if not segments.write(start, _writes(key, value, start, segments.sequence)):
            self._rules.expired()

    def get(self, key: bytes, start: int) -> bytes | None:
        segments = self._segments
        if start < self._oldest_readable:
            return None
        return segments.get(start, time_first_window_key(key, start, segments.sequence))

    def entries_of(
        self, keys: Collection[bytes], time_from: int, time_to: int
    ) -> list[WindowEntry]:
        """Return the entries of these keys as ``scan`` finds them for each key."""
        return [each for key in keys for each in self.scan((key, key), time_from, time_to)]

    def keeps(self, first_start: int, last_start: int) -> bool:
        """Return whether windows between these stay readable after writes in any order."""
        return not self._rules.retain_duplicates and self._segments.keeps(first_start, last_start)

    def get_all(self, window_keys: Sequence[bytes], starts: Sequence[int]) -> list[bytes | None]:
        """Read many windows as ``get`` does."""
        shown, oldest = self._segments.get_all(starts, _by_time(window_keys)), self._oldest_readable
        return [None if start < oldest else row for start, row in zip(starts, shown, strict=True)]

    def put_all(
        self, window_keys: Sequence[bytes], values: Sequence[bytes], starts: Sequence[int]
    ) -> None:
        """Write different windows, with the same result as calls of ``put`` in this order."""
        for data, value, start in zip(window_keys, values, starts, strict=True):
            self.put(split_window_key(data)[0], value, start)

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]:
        time_from = max(time_from, self._oldest_readable, 0)
        if time_to < time_from:
            return iter(())
        low, high = keys
        if low is not None and low == high:
            return self._scan_key(low, time_from, time_to, reverse)
        return self._scan_times(keys, time_from, time_to, reverse)

    def _scan_key(
        self, key: bytes, time_from: int, time_to: int, reverse: bool
    ) -> Iterator[WindowEntry]:
        segments = self._segments
        low = KEY_FIRST + window_key(key, time_from)
        high = after(KEY_FIRST + window_key(key, time_to, MAX_SEQUENCE))
        for data, _ in segments.scan(time_from, time_to, (low, high), reverse=reverse):
            found, start, sequence = split_window_key(data[1:])
            if found == key:
                value = segments.get(start, time_first_window_key(key, start, sequence))
                if value is not None:
                    yield key, start, value

    def _scan_times(
        self, keys: KeyRange, time_from: int, time_to: int, reverse: bool
    ) -> Iterator[WindowEntry]:
        high = KEY_FIRST if time_to >= MAX_LONG else time_first_bound(time_to + 1)
        bounds = (time_first_bound(time_from), high)
        for data, value in self._segments.scan(time_from, time_to, bounds, reverse=reverse):
            key, start, _ = split_time_first_window_key(data)
            if is_within(key, keys):
                yield key, start, value

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._segments.write_all(self._restored(records))

    def _restored(self, records: Iterable[ChangelogRecord]) -> Iterator[tuple[int, list[Write]]]:
        segments = self._segments
        for data, value, _ in records:
            key, start, sequence = split_window_key(data)
            segments.sequence = max(segments.sequence, sequence)
            # The put of None behind this record did not advance time.
            if value is None and self._rules.retain_duplicates:
                continue
            yield start, _writes(key, value, start, sequence)

    def flush(self) -> None:
        self._segments.flush()

    def close(self) -> None:
        self._segments.close()


def _by_time(window_keys: Sequence[bytes]) -> list[bytes]:
    return [time_first_window_key(*split_window_key(data)) for data in window_keys]


def _writes(key: bytes, value: bytes | None, start: int, sequence: int) -> list[Write]:
    index_value = None if value is None else b""
    return [
        (KEY_FIRST + window_key(key, start, sequence), index_value),
        (time_first_window_key(key, start, sequence), value),
    ]
