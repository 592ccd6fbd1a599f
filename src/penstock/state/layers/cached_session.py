"""The caching layer of session stores: writes wait in the record cache until it is flushed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from penstock.errors import UnsupportedOperationError
from penstock.model.record import Headers, RecordContext
from penstock.model.rules.table_rule import is_change
from penstock.model.time.duration import MAX_LONG
from penstock.state.layers.cache import HEADERS, TIMESTAMP, VALUE, CacheEntry, RecordCache
from penstock.state.layers.cached_segments import CachedSegments, stored_key
from penstock.state.layers.merged import Cached, Stored, merge_cached
from penstock.state.session.segmented_session import session_bounds
from penstock.state.session.session_bytes import SessionBytes, SessionEntry
from penstock.state.window.window_bytes import ChangelogRecord, KeyRange, is_within
from penstock.state.window.window_keys import session_key, split_session_key

#: Key, session start, session end, new value, old value, timestamp, headers.
SessionListener = Callable[[bytes, int, int, bytes | None, bytes | None, int, Headers], None]


class _Flushed(NamedTuple):
    """Writes of one batch that went past the cache. The cache has still to take them as clean."""

    session_keys: Sequence[bytes]
    ends: Sequence[int]
    values: Sequence[bytes | None]
    size_bytes: int


class CachedSessions:
    """Keeps the last write per session. The inner store and the listener get it at the flush.

    Retention does not hide cached entries. The old value for the listener is that of the inner
    store.

    A batch over columns writes past the cache. What it has written would be in the cache after a
    flush, so it is kept as ``_Flushed``. It enters the cache when something asks the cache.
    """

    def __init__(
        self,
        inner: SessionBytes,
        cache: RecordCache,
        context: RecordContext,
        *,
        name: str,
        interval_ms: int,
        in_memory: bool,
    ) -> None:
        self._name = name
        self.inner = inner
        self._in_memory = in_memory
        self._listener: SessionListener | None = None
        self._sends_old = False
        self._latest_end = -1
        self._cache = cache.named(name, context, self._write_back)
        self._cached = CachedSegments(self._cache, interval_ms)
        self._flushed: list[_Flushed] = []
        self._max_bytes = cache.max_bytes

    def is_dirty(self) -> bool:
        return self._cache.is_dirty

    def keep_flushed(
        self, session_keys: Sequence[bytes], ends: Sequence[int], values: Sequence[bytes | None]
    ) -> None:
        """Take what the inner store has got past the cache. The cache has no waiting entries."""
        sizes = map(len, (*session_keys, *(value for value in values if value is not None)))
        self._flushed.append(_Flushed(session_keys, ends, values, sum(sizes)))
        while sum(each.size_bytes for each in self._flushed[1:]) > self._max_bytes:
            # Later entries would have evicted these, and all that was in the cache before.
            self._cache.clear()
            del self._flushed[0]

    def flushed_of(
        self, keys: Collection[bytes], earliest_end: int, before: int
    ) -> list[SessionEntry]:
        """Return the cached sessions of these keys that end in the span, without ``before``."""
        self._take_flushed()
        found = []
        if earliest_end < before:
            spans = self._cached.scan(earliest_end, before - 1, (None, None), reverse=False)
            for data, entry in spans:
                key, start, end = split_session_key(stored_key(data))
                if key in keys and earliest_end <= end < before and entry[VALUE] is not None:
                    found.append((key, start, end, entry[VALUE]))
        return found

    def _take_flushed(self) -> None:
        waiting, self._flushed = self._flushed, []
        for each in waiting:
            for data, end, value in zip(each.session_keys, each.ends, each.values, strict=True):
                cache_key = self._cached.cache_key(data, end)
                if value is None:
                    self._cache.delete(cache_key)
                else:
                    self._latest_end = max(self._latest_end, end)
                    self._cached.put_clean(cache_key, value, end)

    def set_listener(self, listener: SessionListener, *, send_old: bool) -> None:
        self._listener = listener
        self._sends_old = send_old

    def put(self, key: bytes, start: int, end: int, value: bytes | None) -> None:
        if self._flushed:
            self._take_flushed()
        self._latest_end = max(self._latest_end, end)
        cache_key = self._cached.cache_key(session_key(key, start, end), end)
        self._cached.put(cache_key, value, end)

    def remove(self, key: bytes, start: int, end: int) -> None:
        self.put(key, start, end, None)

    def get(self, key: bytes, start: int, end: int) -> bytes | None:
        self._take_flushed()
        entry = self._cached.get(session_key(key, start, end), end)
        return self.inner.get(key, start, end) if entry is None else entry[VALUE]

    def scan(
        self, keys: KeyRange, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> Iterator[SessionEntry]:
        self._take_flushed()
        stored = self.inner.scan(keys, earliest_end, latest_start, reverse=reverse)
        cached = self._matching(keys, earliest_end, latest_start, reverse)
        if self._in_memory:
            cached = iter(sorted(cached, key=lambda item: item[0], reverse=reverse))
        return merge_cached(cached, map(self._placed, stored), reverse=reverse)

    def scan_ending(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        raise UnsupportedOperationError(
            "store-operation-unsupported",
            f"store {self._name!r} is cached and cannot find sessions by their end time",
            fix="disable caching for this store",
        )

    def _placed(self, entry: SessionEntry) -> Stored[SessionEntry]:
        key, start, end, _ = entry
        return self._place(key, start, end), entry

    def _place(self, key: bytes, start: int, end: int) -> Any:
        if self._in_memory:
            # The store in memory has the latest start first. Kafka Streams caches by key.
            return end, key, -start
        return self._cached.cache_key(session_key(key, start, end), end)

    def _matching(
        self, keys: KeyRange, earliest_end: int, latest_start: int, reverse: bool
    ) -> Iterator[Cached[SessionEntry]]:
        bounds = session_bounds(keys, max(earliest_end, 0), self._latest_end)
        for data, entry in self._cached.scan(earliest_end, MAX_LONG, bounds, reverse=reverse):
            key, start, end = split_session_key(stored_key(data))
            if end >= earliest_end and start <= latest_start and is_within(key, keys):
                value = entry[VALUE]
                item = None if value is None else (key, start, end, value)
                yield self._place(key, start, end), item

    def _write_back(self, cache_key: bytes, entry: CacheEntry) -> None:
        key, start, end = split_session_key(stored_key(cache_key))
        new, old = entry[VALUE], None
        if self._listener is None:
            self.inner.put(key, start, end, new)
            return
        if new is None or self._sends_old:
            old = self.inner.get(key, start, end)
            if not is_change(new is not None, old is not None):
                return
        self.inner.put(key, start, end, new)
        shown = old if self._sends_old else None
        self._listener(key, start, end, new, shown, entry[TIMESTAMP], entry[HEADERS])

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
