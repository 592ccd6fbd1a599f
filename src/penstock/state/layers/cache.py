"""The record cache: writes of a task that are not forwarded yet, and recently read entries.

There is one per task, for all of its cached stores, as Kafka Streams' thread cache. Layers on top
of it: ``cached_key_value`` and the caching parts of the window and session stores.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from penstock.errors import InvalidStateError
from penstock.model.record import Headers, RecordContext
from penstock.model.rules.table_rule import LastRows
from penstock.state.engine.sorted_keys import SortedKeys

# Kafka Streams counts the dirty flag, timestamp, offset, partition and three links per entry.
_ENTRY_OVERHEAD = 1 + 8 + 8 + 4 + 3 * 8


#: A value (None is a tombstone), the context of the record that wrote it (timestamp, offset,
#: partition, topic, headers), and the size that is counted for it.
#: It is a plain tuple because Python's garbage collector stops tracking tuples of simple values. It
#: would visit objects of a class again and again, and a cache has very many entries.
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


#: Is called for each dirty entry that is flushed. The context is that of the entry.
WriteBack = Callable[[bytes, CacheEntry], None]

_READ_CONTEXT = RecordContext(timestamp=-1, offset=-1, partition=-1, topic="")


class RecordCache:
    """The byte budget of a task and its named caches, one per store.

    A write beyond ``max_bytes`` evicts the least recently used entries of the store that was
    written. ``size_bytes`` is the size as Kafka Streams counts it: the sum over all named caches,
    where entries that are added to a cache during its own flush count twice.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._caches: dict[str, NamedCache] = {}

    def named(self, store: str, context: RecordContext, write_back: WriteBack) -> NamedCache:
        """Open the cache of a store. ``write_back`` gets flushed entries in write order."""
        if store in self._caches:
            raise InvalidStateError("cache-exists", f"store {store!r} already has a cache")
        cache = self._caches[store] = NamedCache(self, store, context, write_back)
        return cache

    def resize(self, max_bytes: int) -> None:
        """Change the budget. If it shrinks, the caches evict one entry each, in turn."""
        self.max_bytes = max_bytes
        self.keep(max_bytes)

    def keep(self, max_bytes: int) -> None:
        """Evict entries beyond this size. After a flush, this forwards nothing."""
        while self.size_bytes > max_bytes and self._caches:
            for cache in list(self._caches.values()):
                if self.size_bytes > max_bytes:
                    cache.evict()

    def flush(self) -> None:
        """Flush every store's cache, in the order in which they were opened."""
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
        self._dirty: LastRows[bytes, None] = LastRows()
        self.size_bytes = 0
        self.hits = 0
        self.misses = 0
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_dirty(self) -> bool:
        """Return whether a flush would forward an entry."""
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
        """Return a function that reads through the cache, and keeps what it reads as clean."""
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
        """Keep a write until the next flush, with the context of the current record."""
        self._dirty.put(key, None)
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
        """Keep an entry that was read from the inner store. A flush does not forward it."""
        if key in self._dirty:
            raise InvalidStateError(
                "cache-entry-dirty",
                f"cache of store {self._store!r}: a read would hide the unflushed write of {key!r}",
            )
        self._keep(key, _entry(value, _READ_CONTEXT, len(key)))

    def delete(self, key: bytes) -> CacheEntry | None:
        """Drop the entry without forwarding it."""
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
        """Return the current entries of ``[start, end)``, with tombstones.

        As in Kafka Streams, reaching an entry counts as using it.
        """
        entries = self._entries
        found = [(key, entries[key]) for key in self._keys.between(start, end, reverse=reverse)]
        return self._use(found) if found else iter(())

    def has_between(self, start: bytes, end: bytes) -> bool:
        """Return whether there are entries in ``[start, end)``, without using them."""
        return bool(self._keys.between(start, end, limit=1))

    def _use(self, found: list[tuple[bytes, CacheEntry]]) -> Iterator[tuple[bytes, CacheEntry]]:
        for item in found:
            if item[0] in self._entries:
                self._entries.move_to_end(item[0])
            yield item

    def flush(self) -> None:
        """Forward every dirty entry, in write order, and keep them as clean."""
        before = self.size_bytes
        self._flush([], [])
        self._cache.size_bytes += self.size_bytes - before

    def evict(self) -> None:
        """Evict the least recently used entry. If it is dirty, flush all entries."""
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
            # The evicted entry is first, although others may have been written before it.
            self._flush([key], [entry])

    def clear(self) -> None:
        """Drop all entries without forwarding them."""
        self._cache.size_bytes -= self.size_bytes
        self.size_bytes = 0
        self._entries.clear()
        self._keys.clear()
        self._dirty.clear()

    def close(self) -> None:
        self.clear()
        self._cache.forget(self._store)

    def _shrink(self) -> None:
        # A flush may write to other stores of the task. So this cache can be empty
        # while the task is still over its budget.
        cache, entries = self._cache, self._entries
        while cache.size_bytes > cache.max_bytes and entries:
            self.evict()

    def _flush(self, keys: list[bytes], leaving: list[CacheEntry]) -> None:
        """Forward these entries, and after them all dirty ones."""
        entries, dirty = self._entries, self._dirty
        keys.extend(dirty)
        leaving.extend([entries[key] for key in dirty])
        # Clear it first: a flush may add entries to this cache.
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
                # The context of the entry becomes the current context of the task.
                _, context.timestamp, context.offset, context.partition, topic, headers, _ = entry
                context.topic, context.headers = topic, headers
                write_back(key, entry)
        finally:
            context.timestamp, context.offset = saved.timestamp, saved.offset
            context.partition, context.topic = saved.partition, saved.topic
            context.headers = saved.headers


def _size_of(headers: Headers) -> int:
    return sum(len(key) + (0 if value is None else len(value)) for key, value in headers)
