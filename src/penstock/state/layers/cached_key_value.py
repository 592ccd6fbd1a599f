"""The layer that keeps writes of a key-value store in the record cache until a flush."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from penstock.model.record import Headers, RecordContext
from penstock.model.rules.table_rule import is_change
from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.engine.overlay import overlaid
from penstock.state.layers.cache import VALUE, CacheEntry, RecordCache

#: Key, new value, old value, timestamp and headers of a flushed entry.
BytesFlushListener = Callable[[bytes, bytes | None, bytes | None, int, Headers], None]


class CachedKeyValue:
    """Writes reach the inner store at a flush, one per key. Reads see them at once.

    The listener is called after the inner store has the entry. The context is that of the record
    that wrote the entry.
    """

    def __init__(
        self, name: str, inner: BytesStore, cache: RecordCache, context: RecordContext
    ) -> None:
        self._inner = inner
        self._inner_get = inner.get
        self._inner_put = inner.put
        self._cache = cache.named(name, context, self._write_back)
        self.get = self._cache.reader(inner.get)  # type: ignore[assignment, method-assign]
        self._listener: BytesFlushListener | None = None
        self._send_old = False
        self.put = self._cache.put  # type: ignore[method-assign]

    def set_flush_listener(self, listener: BytesFlushListener, *, send_old: bool) -> None:
        self._listener = listener
        self._send_old = send_old

    def get(self, key: bytes) -> bytes | None:
        return self._cache.reader(self._inner_get)(key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def put(self, key: bytes, value: bytes | None) -> None:
        self._cache.put(key, value)

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        for start, end in deleted:
            self.delete_range(start, end)
        for key, value in writes:
            self.put(key, value)

    def delete_range(self, start: bytes, end: bytes) -> None:
        for key, _ in list(self._cache.range(start, end)):
            self._cache.delete(key)
        self._inner.delete_range(start, end)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        under = self._inner.scan(start, end, reverse=reverse)
        over = self._cache.range(start, end, reverse=reverse)
        return overlaid(((key, entry[VALUE]) for key, entry in over), under, reverse=reverse)

    def approximate_num_entries(self) -> int:
        """Count the entries of the inner store, without those that wait in the cache."""
        return self._inner.approximate_num_entries()

    def is_dirty(self) -> bool:
        return self._cache.is_dirty

    def forget(self) -> None:
        self._cache.clear()

    def flush_cache(self) -> None:
        self._cache.flush()

    def flush(self) -> None:
        self._cache.flush()
        self._inner.flush()

    def close(self) -> None:
        try:
            self._cache.flush()
        finally:
            self._cache.close()
            self._inner.close()

    def _write_back(self, key: bytes, entry: CacheEntry) -> None:
        new, timestamp, _, _, _, headers, _ = entry
        listener, sends_old = self._listener, self._send_old
        if listener is None:
            self._inner_put(key, new)
            return
        old = self._inner_get(key) if new is None or sends_old else None
        if is_change(new is not None, old is not None):
            self._inner_put(key, new)
            listener(key, new, old if sends_old else None, timestamp, headers)
