"""Cache keys of window and session stores: the segment's number, then the store's key."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from penstock.state.engine.segments import SEGMENT_SIZE, Bounds, segment_prefix
from penstock.state.layers.cache import CacheEntry, NamedCache

_FIRST_LOOK = 64

CachedItem = tuple[bytes, CacheEntry]


class CachedSegments:
    """Finds cached entries by key and time without visiting all of them.

    It keeps a list of segments that were written. When the list has doubled, empty segments are
    removed from it.
    """

    def __init__(self, cache: NamedCache, interval_ms: int) -> None:
        self._cache = cache
        self._interval_ms = interval_ms
        self._written: list[int] = []
        self._newest = -1
        self._next_look = _FIRST_LOOK

    def cache_key(self, data: bytes, time: int) -> bytes:
        """Return the cache key of the key ``data`` in the segment of ``time``."""
        return segment_prefix(self._segment(time)) + data

    def put(self, cache_key: bytes, value: bytes | None, time: int) -> None:
        """Keep a value, with the key that ``cache_key`` returned for the same time."""
        segment = (time if time > 0 else 0) // self._interval_ms
        if segment != self._newest:
            self._note(segment)
        self._cache.put(cache_key, value)

    def put_clean(self, cache_key: bytes, value: bytes, time: int) -> None:
        """Keep a value as ``put`` does, but without a write that waits for the flush."""
        self._note(self._segment(time))
        self._cache.put_clean(cache_key, value)

    def _note(self, segment: int) -> None:
        place = bisect_left(self._written, segment)
        if place == len(self._written) or self._written[place] != segment:
            # The new segment is empty until its entry is put, so it is not in the list yet.
            self._forget_empty()
            insort(self._written, segment)
        # The newest segment is never removed from the list, so it need not be added again.
        self._newest = self._written[-1]

    def get(self, data: bytes, time: int) -> CacheEntry | None:
        return self._cache.get(self.cache_key(data, time))

    def scan(
        self, time_from: int, time_to: int, bounds: Bounds, *, reverse: bool
    ) -> Iterator[CachedItem]:
        """Yield the entries within ``bounds`` of every segment that overlaps the span."""
        first, last = self._segment(time_from), self._segment(time_to)
        written = self._written[
            bisect_left(self._written, first) : bisect_right(self._written, last)
        ]
        for segment in reversed(written) if reverse else written:
            yield from self._in_segment(segment, bounds, reverse)

    def _in_segment(self, segment: int, bounds: Bounds, reverse: bool) -> Iterator[CachedItem]:
        return self._cache.range(*_within(segment, bounds), reverse=reverse)

    def _segment(self, time: int) -> int:
        return max(time, 0) // self._interval_ms

    def _forget_empty(self) -> None:
        if len(self._written) < self._next_look:
            return
        newest = self._written[-1]
        self._written = [
            segment
            for segment in self._written
            if segment == newest or self._cache.has_between(*_within(segment, (None, None)))
        ]
        self._next_look = max(_FIRST_LOOK, 2 * len(self._written))


def _within(segment: int, bounds: Bounds) -> tuple[bytes, bytes]:
    """Return the cache keys of ``bounds`` in a segment."""
    prefix = segment_prefix(segment)
    low, high = bounds
    start = prefix if low is None else prefix + low
    end = segment_prefix(segment + 1) if high is None else prefix + high
    return start, end


def stored_key(cache_key: bytes) -> bytes:
    return cache_key[SEGMENT_SIZE:]
