"""The caching layer of window stores: writes wait in the record cache until it is flushed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.model.record import Headers, RecordContext
from penstock.model.rules.table_rule import is_change
from penstock.state.engine.segments import Bounds
from penstock.state.layers.cache import HEADERS, TIMESTAMP, VALUE, CacheEntry, RecordCache
from penstock.state.layers.cached_segments import CachedSegments, stored_key
from penstock.state.layers.merged import Cached, Stored, merge_cached
from penstock.state.window.window_bytes import (
    ChangelogRecord,
    KeyRange,
    WindowBytes,
    WindowEntry,
    is_within,
)
from penstock.state.window.window_keys import (
    KEY_FIRST,
    MAX_SEQUENCE,
    after,
    highest_window_key,
    split_time_first_window_key,
    split_window_key,
    time_first_bound,
    time_first_window_key,
    window_key,
)

_KNOWN_WINDOWS = 4096
#: Stands for any key: these bytes are not a time.
_MARK = b"\xffkey\xff" * 3

#: Key, window start, new value, old value, timestamp, headers.
WindowListener = Callable[[bytes, int, bytes | None, bytes | None, int, Headers], None]


@dataclass(frozen=True, slots=True, eq=False)
class WindowLayout:
    """The order of entries in the inner store, which the cache has, too."""

    to_key: Callable[[bytes, int], bytes]
    from_key: Callable[[bytes], tuple[bytes, int, int]]


BY_KEY = WindowLayout(window_key, split_window_key)
BY_TIME = WindowLayout(time_first_window_key, split_time_first_window_key)
#: By time, then key. The cache has the bytes of ``BY_KEY``, whose order is a little different.
IN_MEMORY = WindowLayout(window_key, split_window_key)


class CachedWindows:
    """Keeps the last write per window. The inner store and the listener get it at the flush.

    Retention does not hide cached entries: the time of the inner store advances at the flush. The
    old value for the listener is that of the inner store.
    """

    def __init__(
        self,
        inner: WindowBytes,
        cache: RecordCache,
        context: RecordContext,
        *,
        name: str,
        interval_ms: int,
        layout: WindowLayout,
    ) -> None:
        self.inner = inner
        self._layout = layout
        self._listener: WindowListener | None = None
        self._sends_old = False
        self._latest_start = -1
        self._cache = cache.named(name, context, self._write_back)
        self._cached = CachedSegments(self._cache, interval_ms)
        self._around: dict[int, tuple[bytes, bytes]] = {}
        #: Only the plain layout on disk has the same order as the cache.
        self._put_stored = getattr(inner, "put_stored", None) if layout is BY_KEY else None

    @property
    def sequence(self) -> int:
        return self.inner.sequence

    def is_dirty(self) -> bool:
        return self._cache.is_dirty

    def forget(self) -> None:
        self._cache.clear()

    def set_listener(self, listener: WindowListener, *, send_old: bool) -> None:
        self._listener = listener
        self._sends_old = send_old

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        if start > self._latest_start:
            self._latest_start = start
        self._cached.put(self._cache_key(key, start), value, start)

    def get(self, key: bytes, start: int) -> bytes | None:
        entry = self._cache.get(self._cache_key(key, start))
        return self.inner.get(key, start) if entry is None else entry[VALUE]

    def find(self, key: bytes, start: int) -> tuple[bytes, bytes | None]:
        """Return the value and its place, for a following ``replace``."""
        around = self._around.get(start) or self._note_around(start)
        place = around[0] + key + around[1]
        entry = self._cache.get(place)
        return place, self.inner.get(key, start) if entry is None else entry[VALUE]

    def replace(self, place: bytes, value: bytes | None, start: int) -> None:
        """Put a value at the place from ``find``."""
        if start > self._latest_start:
            self._latest_start = start
        self._cached.put(place, value, start)

    def _cache_key(self, key: bytes, start: int) -> bytes:
        before, behind = self._around.get(start) or self._note_around(start)
        return before + key + behind

    def _note_around(self, start: int) -> tuple[bytes, bytes]:
        """Keep the bytes around the key: there are few windows, with many keys in each."""
        if len(self._around) >= _KNOWN_WINDOWS:
            self._around.clear()
        whole = self._cached.cache_key(self._layout.to_key(_MARK, start), start)
        # The last one: a time before it may have some of the same bytes.
        at = whole.rindex(_MARK)
        found = self._around[start] = whole[:at], whole[at + len(_MARK) :]
        return found

    def scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool = False
    ) -> Iterator[WindowEntry]:
        stored = self.inner.scan(keys, time_from, time_to, reverse=reverse)
        cached = self._scan_cached(keys, time_from, time_to, reverse)
        if self._layout is IN_MEMORY and not _is_one(keys):
            cached = iter(sorted(cached, key=lambda item: item[0], reverse=reverse))
        return merge_cached(cached, map(self._placed, stored), reverse=reverse)

    def _placed(self, entry: WindowEntry) -> Stored[WindowEntry]:
        return self._place(entry[0], entry[1]), entry

    def _place(self, key: bytes, start: int) -> Any:
        if self._layout is IN_MEMORY:
            return start, key
        return self._cached.cache_key(self._layout.to_key(key, start), start)

    def _scan_cached(
        self, keys: KeyRange, time_from: int, time_to: int, reverse: bool
    ) -> Iterator[Cached[WindowEntry]]:
        bounds = self._bounds(keys, max(time_from, 0), time_to)
        is_by_time = self._layout is BY_TIME
        for data, entry in self._cached.scan(time_from, time_to, bounds, reverse=reverse):
            key, start, _ = self._layout.from_key(stored_key(data))
            if is_by_time and (start < time_from if reverse else start > time_to):
                # All later entries are out of range, too. Reaching them would count as using them.
                return
            if time_from <= start <= time_to and is_within(key, keys):
                item = None if entry[VALUE] is None else (key, start, entry[VALUE])
                yield self._place(key, start), item

    def _bounds(self, keys: KeyRange, time_from: int, time_to: int) -> Bounds:
        if self._layout is BY_TIME:
            return time_first_bound(time_from), KEY_FIRST
        low, high = keys
        if low is not None and _is_one(keys):
            return window_key(low, time_from), after(window_key(low, time_to, MAX_SEQUENCE))
        latest = min(time_to, self._latest_start)
        return low, None if high is None else after(highest_window_key(high, latest))

    def _write_back(self, cache_key: bytes, entry: CacheEntry) -> None:
        stored = stored_key(cache_key)
        key, start, _ = self._layout.from_key(stored)
        new, old = entry[VALUE], None
        if self._listener is None:
            self.inner.put(key, new, start)
            return
        if new is None or self._sends_old:
            old = self.inner.get(key, start)
            if not is_change(new is not None, old is not None):
                return
        if self._put_stored is None:
            self.inner.put(key, new, start)
        else:
            self._put_stored(stored, new, start)
        shown = old if self._sends_old else None
        self._listener(key, start, new, shown, entry[TIMESTAMP], entry[HEADERS])

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self.inner.restore(records)

    def flush(self) -> None:
        self._cache.flush()
        self.inner.flush()

    def close(self) -> None:
        try:
            self._cache.flush()
        finally:
            self._cache.close()
            self.inner.close()


def _is_one(keys: KeyRange) -> bool:
    low, high = keys
    return low is not None and low == high
