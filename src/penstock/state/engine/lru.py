"""A map in memory that keeps the last used entries: the engine of ``Stores.lru_map``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence

from penstock.state.bytes_store import Entry, KeyRange, Write


class LruStore:
    """At most ``max_entries`` entries. Reading or writing a key uses it; a scan does not.

    ``evicted`` is called with each evicted key, before the write that evicts it returns.
    """

    def __init__(self, max_entries: int, evicted: Callable[[bytes], None] | None = None) -> None:
        self._max_entries = max_entries
        self._evicted = evicted
        self._values: OrderedDict[bytes, bytes] = OrderedDict()

    def get(self, key: bytes) -> bytes | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def put(self, key: bytes, value: bytes | None) -> None:
        self._put(key, value, self._evicted)

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        for start, end in deleted:
            self.delete_range(start, end)
        for key, value in writes:
            self._put(key, value, self._evicted)

    def restore(self, writes: Iterable[Write]) -> None:
        """Apply writes of the changelog, without reporting evictions again."""
        for key, value in writes:
            self._put(key, value, None)

    def delete_range(self, start: bytes, end: bytes) -> None:
        for key in [key for key in self._values if start <= key < end]:
            del self._values[key]

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        found = (
            entry
            for entry in self._values.items()
            if (start is None or entry[0] >= start) and (end is None or entry[0] < end)
        )
        return iter(sorted(found, reverse=reverse))

    def approximate_num_entries(self) -> int:
        return len(self._values)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        self._values.clear()

    def _put(
        self, key: bytes, value: bytes | None, evicted: Callable[[bytes], None] | None
    ) -> None:
        values = self._values
        if value is None:
            values.pop(key, None)
            return
        values[key] = value
        values.move_to_end(key)
        if len(values) > self._max_entries:
            eldest, _ = values.popitem(last=False)
            if evicted is not None:
                evicted(eldest)
