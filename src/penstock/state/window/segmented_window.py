"""Window entries on disk, by segment, then key, then time: Kafka Streams' default window store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from penstock.state.bytes_store import BytesStore, Write
from penstock.state.engine.segments import SEGMENT_SIZE, Bounds, Segments
from penstock.state.window.window_bytes import (
    ALL_KEYS,
    ChangelogRecord,
    KeyRange,
    WindowEntry,
    WindowRules,
    is_within,
    next_sequence,
)
from penstock.state.window.window_keys import (
    MAX_SEQUENCE,
    after,
    highest_window_key,
    split_window_key,
    window_key,
    window_key_time,
    window_suffix,
)

#: A scan of all keys reads an entry in the tenth part of the time that a scan of one key takes to
#: begin.
_SCANNED_PER_KEY = 10


class SegmentedWindows:
    """Window entries in time segments. A write is too old if its segment has expired."""

    #: Whether a put of None, in a store with duplicates, lets older entries expire.
    none_advances = False

    def __init__(self, store: BytesStore, rules: WindowRules) -> None:
        self._rules = rules
        self._segments = Segments(store, rules.retention_ms, rules.segment_interval_ms)

    @property
    def sequence(self) -> int:
        return self._segments.sequence

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        segments = self._segments
        if self._rules.retain_duplicates:
            segments.sequence = next_sequence(segments.sequence)
            if value is None:
                return
        if not segments.put(start, window_key(key, start, segments.sequence), value):
            self._rules.expired()

    def put_stored(self, data: bytes, value: bytes | None, start: int) -> None:
        """Put a value with the bytes of a window key, in a store without duplicates."""
        if not self._segments.put(start, data, value):
            self._rules.expired()

    def get(self, key: bytes, start: int) -> bytes | None:
        # With duplicates, this finds only the last put, if it was to this window: Kafka Streams
        # looks for the current sequence number.
        segments = self._segments
        if start < segments.oldest_readable:
            return None
        return segments.get(start, window_key(key, start, segments.sequence))

    def keeps(self, first_start: int, last_start: int) -> bool:
        """Return whether windows between these stay readable after writes in any order."""
        return not self._rules.retain_duplicates and self._segments.keeps(first_start, last_start)

    def get_all(self, window_keys: Sequence[bytes], starts: Sequence[int]) -> list[bytes | None]:
        """Read many windows as ``get`` does."""
        segments = self._segments
        found = segments.get_all(starts, window_keys)
        if min(starts) >= segments.oldest_readable:
            return found
        return [
            None if start < segments.oldest_readable else value
            for start, value in zip(starts, found, strict=True)
        ]

    def put_all(
        self, window_keys: Sequence[bytes], values: Sequence[bytes], starts: Sequence[int]
    ) -> None:
        """Write different windows, with the same result as calls of ``put`` in this order."""
        for _ in range(self._segments.put_all(starts, window_keys, values)):
            self._rules.expired()

    @property
    def stream_time(self) -> int:
        """Return the highest time of all writes, or -1."""
        return self._segments.stream_time

    @property
    def retention_ms(self) -> int:
        return self._rules.retention_ms

    def oldest_shown(self, stream_time: int) -> int:
        """Return the first start that can be read at a stream time."""
        return stream_time - self._rules.retention_ms + 1

    def entries_of(
        self, keys: Collection[bytes], time_from: int, time_to: int
    ) -> list[WindowEntry]:
        """Return the entries of these keys as ``scan`` finds them for each key.

        Between two keys, the order is that of the store or any other.
        """
        found: list[WindowEntry] = []
        at_most = _SCANNED_PER_KEY * len(keys)
        for number, entry in enumerate(self.scan(ALL_KEYS, time_from, time_to)):
            if number == at_most:
                return [e for key in keys for e in self.scan((key, key), time_from, time_to)]
            if entry[0] in keys:
                found.append(entry)
        return found

    def put_duplicates(
        self, keys: Sequence[bytes], values: Sequence[bytes | None], starts: Sequence[int]
    ) -> list[bytes]:
        """Write entries as calls of ``put`` in this order would; return their logged keys."""
        numbers = self._next_sequences(len(keys))
        suffixes = map(window_suffix, starts, numbers)
        stored = [key + suffix for key, suffix in zip(keys, suffixes, strict=True)]
        if None in values:
            rows = [row for row in zip(stored, values, starts, strict=True) if row[1] is not None]
            if rows:
                self.put_all(*zip(*rows, strict=True))
        else:
            self.put_all(stored, values, starts)  # type: ignore[arg-type]
        return stored

    def _next_sequences(self, count: int) -> Iterable[int]:
        segments = self._segments
        first = next_sequence(segments.sequence)
        if first + count <= MAX_SEQUENCE:
            segments.sequence = first + count - 1
            return range(first, first + count)
        numbers = []
        for _ in range(count):
            segments.sequence = next_sequence(segments.sequence)
            numbers.append(segments.sequence)
        return numbers

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]:
        time_from = max(time_from, self._segments.oldest_readable, 0)
        if time_to < time_from:
            return iter(())
        low, high = keys
        if low is not None and low == high:
            return self._scan_key(low, time_from, time_to, reverse)
        return self._scan_keys(keys, time_from, time_to, reverse)

    def _scan_key(
        self, key: bytes, time_from: int, time_to: int, reverse: bool
    ) -> Iterator[WindowEntry]:
        bounds = (window_key(key, time_from), after(window_key(key, time_to, MAX_SEQUENCE)))
        size, end = SEGMENT_SIZE + len(key) + 12, SEGMENT_SIZE + len(key)
        for entries in self._segments.scans(time_from, time_to, bounds, reverse=reverse):
            for data, value in entries:
                # Between the bounds there may be longer and shorter keys, but only the wanted
                # windows of this key.
                if len(data) == size and data[SEGMENT_SIZE:end] == key:
                    yield key, window_key_time(data), value

    def _scan_keys(
        self, keys: KeyRange, time_from: int, time_to: int, reverse: bool
    ) -> Iterator[WindowEntry]:
        low, high = keys
        latest = min(time_to, self._segments.stream_time)
        bounds: Bounds = (low, None if high is None else after(highest_window_key(high, latest)))
        for data, value in self._segments.scan(time_from, time_to, bounds, reverse=reverse):
            key, start, _ = split_window_key(data)
            if time_from <= start <= time_to and is_within(key, keys):
                yield key, start, value

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._segments.write_all(self._restored(records))

    def _restored(self, records: Iterable[ChangelogRecord]) -> Iterator[tuple[int, list[Write]]]:
        segments = self._segments
        for data, value, _ in records:
            _, start, sequence = split_window_key(data)
            segments.sequence = max(segments.sequence, sequence)
            # The put of None behind this record did not advance time.
            if value is None and self._rules.retain_duplicates:
                continue
            yield start, [(data, value)]

    def flush(self) -> None:
        self._segments.flush()

    def close(self) -> None:
        self._segments.close()
