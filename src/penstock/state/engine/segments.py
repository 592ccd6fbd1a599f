"""Time segments inside one ordered map.

A physical key is the number of the segment (8 bytes) and then the key of the store. So segments are
in key order, and one range delete removes a segment.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from struct import Struct

from penstock.state.bytes_store import BytesStore, Entry, Write

_NUMBER = Struct(">Q")
_META = Struct(">qq")
#: The size of the segment's number in a physical key, in bytes.
SEGMENT_SIZE = 8

#: Is after all segments in key order, and never expires.
META = b"\xff\xff\xff\xff\xff\xff\xff\xfe"
_ALL_SEGMENTS_END = b"\x80" + bytes(7)

#: A range of keys inside a segment: the first key, and the key after the last one.
Bounds = tuple[bytes | None, bytes | None]

_MIN_SEGMENT_INTERVAL_MS = 60_000


def default_segment_interval_ms(retention_ms: int) -> int:
    return max(retention_ms // 2, _MIN_SEGMENT_INTERVAL_MS)


def segment_prefix(segment: int) -> bytes:
    return _NUMBER.pack(segment)


class Segments:
    """Keeps entries up to ``retention_ms`` before the highest time, in segments.

    An expired entry is hidden at once. It is deleted when all entries of its segment have expired.
    Stream time and the sequence number survive a restart: every flush writes them, too.
    """

    def __init__(self, store: BytesStore, retention_ms: int, interval_ms: int) -> None:
        self.store = store
        self.stream_time = -1
        #: The first time that has not expired.
        self.oldest_readable = -retention_ms
        self.sequence = 0
        self._retention_ms = retention_ms
        self._interval_ms = interval_ms
        self._first_live = 0
        self._live: list[int] = list(_existing_segments(store))
        self._prefixes = {segment: segment_prefix(segment) for segment in self._live}
        self._saved = self._read_meta()

    def advance(self, time: int) -> None:
        if time > self.stream_time:
            self.stream_time = time
            self.oldest_readable = time - self._retention_ms + 1
            self._first_live = self.segment_of(time - self._retention_ms)

    def segment_of(self, time: int) -> int:
        return max(time, 0) // self._interval_ms

    def put(self, time: int, key: bytes, value: bytes | None) -> bool:
        """Write to the segment of that time. Return false if that segment has expired."""
        prefix = self._prefix_to_write(time)
        if prefix is None:
            return False
        self.store.put(prefix + key, value)
        return True

    def write(self, time: int, writes: Iterable[Write]) -> bool:
        """Write several entries to the segment of that time, as one batch."""
        prefix = self._prefix_to_write(time)
        if prefix is None:
            return False
        self.store.write([(prefix + key, value) for key, value in writes])
        return True

    def _prefix_to_write(self, time: int) -> bytes | None:
        if time > self.stream_time:
            self.advance(time)
        segment = self.segment_of(time)
        self.enter(segment)
        if self._live and self._live[0] < self._first_live:
            self.drop_expired()
        return self._prefixes.get(segment)

    def write_all(self, timed_writes: Iterable[tuple[int, list[Write]]]) -> None:
        """Write a restored batch, without entries that have expired at its highest time."""
        batch = list(timed_writes)
        for time, _ in batch:
            self.advance(time)
        writes: list[Write] = []
        for time, entries in batch:
            segment = self.segment_of(time)
            if self.enter(segment):
                prefix = self._prefixes[segment]
                writes.extend((prefix + key, value) for key, value in entries)
        self.drop_expired()
        self.store.write(writes)

    def oldest_kept(self, stream_time: int) -> int:
        """Return the first time whose segment is not dropped by a write at a stream time."""
        return self.segment_of(stream_time - self._retention_ms) * self._interval_ms

    def keeps(self, first_time: int, last_time: int) -> bool:
        """Return whether an entry of the first time survives a write at the last time."""
        newest = max(self.stream_time, last_time)
        oldest_live = self.segment_of(newest - self._retention_ms)
        is_readable = first_time > newest - self._retention_ms
        return is_readable and self.segment_of(first_time) >= oldest_live

    def get_all(self, times: Sequence[int], keys: Sequence[bytes]) -> list[bytes | None]:
        """Read each key from the segment of its time."""
        # There are no entries after stream time: every write advances it.
        prefixes = {
            time: segment_prefix(self.segment_of(time))
            for time in set(times)
            if time <= self.stream_time
        }
        wanted = [
            prefixes[time] + key for time, key in zip(times, keys, strict=True) if time in prefixes
        ]
        found = self.store.multi_get(wanted) if wanted else []
        if len(wanted) == len(keys):
            return found
        rows = iter(found)
        return [next(rows) if time in prefixes else None for time in times]

    def put_all(
        self, times: Sequence[int], keys: Sequence[bytes], values: Sequence[bytes | None]
    ) -> int:
        """Write entries in order, and return how many were too old.

        An entry that expires because of a later one is not written.
        """
        interval = self._interval_ms
        segments = [time // interval if time > 0 else 0 for time in times]
        expired = self._expired_in_turn(times, segments)
        self.advance(max(times))
        live = {segment for segment in set(segments) if self.enter(segment)}
        self.drop_expired()
        prefixes = {segment: self._prefixes[segment] for segment in live}
        self.store.write(
            [
                (prefixes[segment] + key, value)
                for segment, key, value in zip(segments, keys, values, strict=True)
                if segment in prefixes
            ]
        )
        return expired

    def _expired_in_turn(self, times: Sequence[int], segments: Sequence[int]) -> int:
        if self.keeps(min(times), max(times)):
            return 0
        newest, oldest_live, expired = self.stream_time, self._first_live, 0
        for time, segment in zip(times, segments, strict=True):
            if time > newest:
                newest, oldest_live = time, self.segment_of(time - self._retention_ms)
            expired += segment < oldest_live
        return expired

    def remove(self, time: int, keys: Iterable[bytes]) -> None:
        """Remove entries. Unlike a write, this does not advance stream time."""
        self.advance(time)
        prefix = self._prefixes.get(self.segment_of(time))
        if prefix is not None:
            self.store.write([(prefix + key, None) for key in keys])

    def get(self, time: int, key: bytes) -> bytes | None:
        """Read from the segment of that time, hidden or not."""
        if time > self.stream_time:
            # There is nothing: every write advances stream time.
            return None
        prefix = self._prefixes.get(self.segment_of(time))
        return None if prefix is None else self.store.get(prefix + key)

    def scan(
        self,
        time_from: int,
        time_to: int,
        bounds: Bounds = (None, None),
        *,
        reverse: bool = False,
    ) -> Iterator[Entry]:
        """Yield the entries within ``bounds`` of every segment that overlaps the span."""
        for entries in self.scans(time_from, time_to, bounds, reverse=reverse):
            for key, value in entries:
                yield key[SEGMENT_SIZE:], value

    def scans(
        self, time_from: int, time_to: int, bounds: Bounds, *, reverse: bool
    ) -> Iterator[Iterator[Entry]]:
        """Yield one scan per segment. The keys begin with the number of the segment."""
        low, high = bounds
        touched = self.between(time_from, time_to)
        for segment in reversed(touched) if reverse else touched:
            prefix = segment_prefix(segment)
            start = prefix + low if low is not None else prefix
            end = prefix + high if high is not None else segment_prefix(segment + 1)
            yield self.store.scan(start, end, reverse=reverse)

    def flush(self) -> None:
        state = (self.stream_time, self.sequence)
        if state != self._saved:
            self.store.put(META, _META.pack(*state))
            self._saved = state

    def close(self) -> None:
        self.store.close()

    def between(self, time_from: int, time_to: int) -> list[int]:
        """Return the segments with entries that overlap the span, oldest first."""
        first, last = self.segment_of(time_from), self.segment_of(time_to)
        return self._live[bisect_left(self._live, first) : bisect_right(self._live, last)]

    @property
    def has_expired(self) -> bool:
        """Return whether there are segments to drop."""
        return bool(self._live) and self._live[0] < self._first_live

    def enter(self, segment: int) -> bool:
        """Add a segment before its first entry. Return false if the segment has expired."""
        if segment < self._first_live:
            return False
        if segment not in self._prefixes:
            insort(self._live, segment)
            self._prefixes[segment] = segment_prefix(segment)
        return True

    def drop_expired(self) -> None:
        if self.has_expired:
            first_live = self._first_live
            self.store.delete_range(segment_prefix(self._live[0]), segment_prefix(first_live))
            gone = bisect_left(self._live, first_live)
            for segment in self._live[:gone]:
                del self._prefixes[segment]
            del self._live[:gone]

    def _read_meta(self) -> tuple[int, int]:
        data = self.store.get(META)
        if data is not None:
            stream_time, self.sequence = _META.unpack(data)
            self.advance(stream_time)
        return self.stream_time, self.sequence


def _existing_segments(store: BytesStore) -> Iterator[int]:
    # Read only the first entry of each segment, and jump to the next segment.
    start = bytes(SEGMENT_SIZE)
    while True:
        first = next(iter(store.scan(start, _ALL_SEGMENTS_END)), None)
        if first is None:
            return
        segment: int = _NUMBER.unpack_from(first[0], 0)[0]
        yield segment
        start = segment_prefix(segment + 1)
