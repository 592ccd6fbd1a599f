"""The record cache: what a task has written but not yet passed on, and what it read lately.

One per task, over all of its cached stores, as Kafka Streams' thread cache. Layers on top of it:
``cached_key_value`` and the caching parts of the window and session stores.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from penstock.errors import InvalidStateError
from penstock.model.record import Headers, RecordContext
from penstock.state.engine.sorted_keys import SortedKeys

# Kafka Streams counts the dirty flag, timestamp, offset, partition and three links per entry.
_ENTRY_OVERHEAD = 1 + 8 + 8 + 4 + 3 * 8


#: A value, None for a tombstone, together with the context of the record that wrote it:
#: timestamp, offset, partition, topic and headers; last the size that is counted for it.
#: A plain tuple, since Python's garbage collector forgets those: a cache has very many of them,
#: and a class of their own would have it look at all of them again and again.
CacheEntry = tuple[bytes | None, int, int, int, str | None, Headers, int]

VALUE: Final = 0
TIMESTAMP: Final = 1
HEADERS: Final = 5
SIZE: Final = 6


def _entry(value: bytes | None, context: RecordContext, key_size: int) -> CacheEntry:
    topic, headers = context.topic, context.headers
    size = _ENTRY_OVERHEAD + key_size
    if value is not None:
        size += len(value)
    if topic is not None:
        size += len(topic)
    if headers:
        size += _size_of(headers)
    return value, context.timestamp, context.offset, context.partition, topic, headers, size


#: Called for each dirty entry that leaves, with the task's context set to the entry's own.
WriteBack = Callable[[bytes, CacheEntry], None]

_READ_CONTEXT = RecordContext(timestamp=-1, offset=-1, partition=-1, topic="")


class RecordCache:
    """The byte budget of a task and its named caches, one per store.

    A write that goes past ``max_bytes`` evicts from the cache of the store that was written,
    oldest use first. ``size_bytes`` is what Kafka Streams would count: the sum over all named
    caches, but while a cache writes back, what that puts into this very cache counts twice.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._caches: dict[str, NamedCache] = {}

    def named(self, store: str, context: RecordContext, write_back: WriteBack) -> NamedCache:
        """Opens the cache of a store. ``write_back`` gets what is flushed, in order of writing."""
        if store in self._caches:
            raise InvalidStateError("cache-exists", f"store {store!r} already has a cache")
        cache = self._caches[store] = NamedCache(self, store, context, write_back)
        return cache

    def resize(self, max_bytes: int) -> None:
        """Changes the budget; when it shrinks, caches give up one entry each, in turn."""
        self.max_bytes = max_bytes
        self.keep(max_bytes)

    def keep(self, max_bytes: int) -> None:
        """Gives up what is beyond this size; after a flush nothing is passed on by that."""
        while self.size_bytes > max_bytes and self._caches:
            for cache in list(self._caches.values()):
                if self.size_bytes > max_bytes:
                    cache.evict()

    def flush(self) -> None:
        """Flushes every store's cache, in the order in which they were opened."""
        for cache in list(self._caches.values()):
            cache.flush()

    def reads(self) -> dict[str, tuple[int, int]]:
        """Return by store how often a read found its key, and how often not."""
        return {name: (cache.hits, cache.misses) for name, cache in list(self._caches.items())}

    def forget(self, store: str) -> None:
        self._caches.pop(store, None)


class NamedCache:
    """The cached entries of one store, by last use, and the keys written since the last flush."""

    def __init__(
        self, cache: RecordCache, store: str, context: RecordContext, write_back: WriteBack
    ) -> None:
        self._cache = cache
        self._store = store
        self._context = context
        self._write_back = write_back
        self._entries: OrderedDict[bytes, CacheEntry] = OrderedDict()
        self._keys = SortedKeys()
        # A dict for its order: a key written again moves to the end.
        self._dirty: dict[bytes, None] = {}
        self.size_bytes = 0
        self.hits = 0
        self.misses = 0
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_dirty(self) -> bool:
        """Whether a flush would pass anything on."""
        return bool(self._dirty)

    def get(self, key: bytes) -> CacheEntry | None:
        entry = self._entries.get(key)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return entry

    def reader(self, load: Callable[[bytes], bytes | None]) -> Callable[[bytes], bytes | None]:
        """Gives a function that reads through the cache: what it loads is kept as clean."""
        entries = self._entries
        find, use = entries.get, entries.move_to_end

        def read(key: bytes) -> bytes | None:
            entry = find(key)
            if entry is not None:
                self.hits += 1
                use(key)
                return entry[VALUE]
            self.misses += 1
            value = load(key)
            if value is not None:
                self.put_clean(key, value)
            return value

        return read

    def put(self, key: bytes, value: bytes | None) -> None:
        """Keeps a write, to be passed on at the next flush, with the current record's context."""
        dirty = self._dirty
        if key in dirty:
            del dirty[key]
        dirty[key] = None
        self._keep(key, _entry(value, self._context, len(key)))

    def _keep(self, key: bytes, entry: CacheEntry) -> None:
        entries, cache, grown = self._entries, self._cache, entry[SIZE]
        if key in entries:
            grown -= entries[key][SIZE]
            entries[key] = entry
            entries.move_to_end(key)
        else:
            self._keys.add(key)
            entries[key] = entry
        self.size_bytes += grown
        cache.size_bytes += grown
        if cache.size_bytes > cache.max_bytes:
            self._shrink()

    def put_clean(self, key: bytes, value: bytes) -> None:
        """Keeps what was read from the inner store: an entry that no flush passes on."""
        if key in self._dirty:
            raise InvalidStateError(
                "cache-entry-dirty",
                f"cache of store {self._store!r}: a read would hide the unflushed write of {key!r}",
            )
        self._keep(key, _entry(value, _READ_CONTEXT, len(key)))

    def delete(self, key: bytes) -> CacheEntry | None:
        """Drops the entry without passing it on."""
        entry = self._drop(key)
        if entry is not None:
            self._cache.size_bytes -= entry[SIZE]
        return entry

    def _drop(self, key: bytes) -> CacheEntry | None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._keys.remove(key)
            self._dirty.pop(key, None)
            self.size_bytes -= entry[SIZE]
        return entry

    def range(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, CacheEntry]]:
        """Gives the entries of ``[start, end)`` as they are now, tombstones too.

        Counts as a use of each entry when it is reached, as in Kafka Streams.
        """
        entries = self._entries
        found = [(key, entries[key]) for key in self._keys.between(start, end, reverse=reverse)]
        return self._use(found) if found else iter(())

    def _use(self, found: list[tuple[bytes, CacheEntry]]) -> Iterator[tuple[bytes, CacheEntry]]:
        for item in found:
            if item[0] in self._entries:
                self._entries.move_to_end(item[0])
            yield item

    def flush(self) -> None:
        """Passes on every dirty entry, in order of writing, and keeps the values as clean."""
        before = self.size_bytes
        self._flush([], [])
        self._cache.size_bytes += self.size_bytes - before

    def evict(self) -> None:
        """Gives up the entry whose last use is the oldest. If it is dirty, all are flushed."""
        if not self._entries:
            return
        before = self.size_bytes
        self._evict()
        self._cache.size_bytes += self.size_bytes - before

    def _evict(self) -> None:
        key, entry = self._entries.popitem(last=False)
        self._keys.remove(key)
        self.size_bytes -= entry[SIZE]
        self.evictions += 1
        if key in self._dirty:
            del self._dirty[key]
            # The evicted entry goes first, though others may have been written before it.
            self._flush([key], [entry])

    def clear(self) -> None:
        """Drops everything without passing it on."""
        self._cache.size_bytes -= self.size_bytes
        self.size_bytes = 0
        self._entries.clear()
        self._keys.clear()
        self._dirty.clear()

    def close(self) -> None:
        self.clear()
        self._cache.forget(self._store)

    def _shrink(self) -> None:
        # Writing back may write to other stores of the task, so this cache can be
        # empty while the task is still over its budget.
        cache, entries = self._cache, self._entries
        while cache.size_bytes > cache.max_bytes and entries:
            self.evict()

    def _flush(self, keys: list[bytes], leaving: list[CacheEntry]) -> None:
        """Passes these entries on, and after them all that are dirty."""
        entries, dirty = self._entries, self._dirty
        keys.extend(dirty)
        leaving.extend([entries[key] for key in dirty])
        # Cleared first: writing back may put into this very cache.
        dirty.clear()
        if not keys:
            return
        self._pass_on(keys, leaving)
        for key, entry in zip(keys, leaving, strict=True):
            if entry[VALUE] is None and entries.get(key) is entry:
                self._drop(key)

    def _pass_on(self, keys: list[bytes], leaving: list[CacheEntry]) -> None:
        context, write_back = self._context, self._write_back
        saved = context.copy()
        try:
            for key, entry in zip(keys, leaving, strict=True):
                # The entry's record becomes the one that the task works on.
                _, context.timestamp, context.offset, context.partition, topic, headers, _ = entry
                context.topic, context.headers = topic, headers
                write_back(key, entry)
        finally:
            context.timestamp, context.offset = saved.timestamp, saved.offset
            context.partition, context.topic = saved.partition, saved.topic
            context.headers = saved.headers


def _size_of(headers: Headers) -> int:
    return sum(len(key) + (0 if value is None else len(value)) for key, value in headers)
