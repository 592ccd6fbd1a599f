"""The ordered map in memory. Its counterpart on disk: ``rocks``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from weakref import ref

from penstock.state.bytes_store import Entry, KeyRange, Write
from penstock.state.engine.closed import cut_off
from penstock.state.engine.sorted_keys import SortedKeys

_FIRST_CHUNK = 32
_LAST_CHUNK = 2_048


class MemoryStore:
    """A hash map for reads and writes, with sorted keys for scans.

    One thread writes; other threads may read. A scan copies a chunk of keys at a time. It keeps
    the former value of each key that is written ahead of it. So it shows the map as it was at the
    start of the scan, without a copy of all entries.
    """

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._keys = SortedKeys()
        self._scans: dict[int, ref[_Scan]] = {}
        self._lock = Lock()
        # The method of the dict itself saves a Python call: reads are the hot path.
        self.get = self._values.get  # type: ignore[method-assign,assignment]

    def get(self, key: bytes) -> bytes | None:
        return self._values.get(key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return list(map(self._values.get, keys))

    def put(self, key: bytes, value: bytes | None) -> None:
        if self._scans:
            self._remember(key)
        values = self._values
        if value is None:
            with self._lock:
                if values.pop(key, None) is not None:
                    self._keys.remove(key)
        elif key in values:
            values[key] = value
        else:
            with self._lock:
                self._keys.add(key)
                values[key] = value

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        for start, end in deleted:
            self.delete_range(start, end)
        put = self.put
        for key, value in writes:
            put(key, value)

    def delete_range(self, start: bytes, end: bytes) -> None:
        with self._lock:
            keys = self._keys.between(start, end)
        for key in keys:
            self.put(key, None)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        scan = _Scan(self, start, end, reverse)
        first = scan.next_chunk()
        return iter(first) if scan.is_done else scan.run(first)

    def approximate_num_entries(self) -> int:
        return len(self._values)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        with self._lock:
            for scan_ref in list(self._scans.values()):
                scan = scan_ref()
                if scan is not None:
                    scan.is_cut_off = True
            self._scans.clear()
            self._keys.clear()
            self._values.clear()

    def _remember(self, key: bytes) -> None:
        with self._lock:
            value = self._values.get(key)
            for scan_ref in list(self._scans.values()):
                scan = scan_ref()
                if scan is not None:
                    scan.remember(key, value)


class _Scan:
    """A running scan: the keys ahead of it, and their former values."""

    __slots__ = (
        "__weakref__",
        "_end",
        "_former",
        "_limit",
        "_reverse",
        "_start",
        "_store",
        "is_cut_off",
        "is_done",
    )

    def __init__(
        self, store: MemoryStore, start: bytes | None, end: bytes | None, reverse: bool
    ) -> None:
        self._store = store
        self._start = start
        self._end = end
        self._reverse = reverse
        self._limit = _FIRST_CHUNK
        self._former: dict[bytes, bytes | None] = {}
        self.is_done = False
        self.is_cut_off = False

    def run(self, first: list[Entry]) -> Iterator[Entry]:
        yield from first
        while not self.is_done:
            yield from self.next_chunk()

    def remember(self, key: bytes, value: bytes | None) -> None:
        """Keep the value that a key had at the start of the scan."""
        if key not in self._former and self._is_ahead(key):
            self._former[key] = value

    def _is_ahead(self, key: bytes) -> bool:
        return (self._start is None or key >= self._start) and (
            self._end is None or key < self._end
        )

    def next_chunk(self) -> list[Entry]:
        if self.is_cut_off:
            raise cut_off()
        store = self._store
        with store._lock:
            keys = store._keys.between(
                self._start, self._end, reverse=self._reverse, limit=self._limit
            )
            values = store._values
            if not self._former:
                chunk = [(key, values[key]) for key in keys]
            else:
                chunk = self._merge(keys)
            self._advance(keys)
        return chunk

    def _merge(self, keys: list[bytes]) -> list[Entry]:
        """Restore these keys as they were: undo changes and deletions, remove new keys."""
        values, former = self._store._values, self._former
        chunk = [(key, values[key]) for key in keys if key not in former]
        is_last = len(keys) < self._limit
        for key, value in list(former.items()):
            if is_last or (key >= keys[-1] if self._reverse else key <= keys[-1]):
                del former[key]
                if value is not None:
                    chunk.append((key, value))
        chunk.sort(reverse=self._reverse)
        return chunk

    def _advance(self, keys: list[bytes]) -> None:
        if len(keys) < self._limit:
            self.is_done = True
            self._store._scans.pop(id(self), None)
            return
        if self._reverse:
            self._end = keys[-1]
        else:
            self._start = keys[-1] + b"\0"
        if self._limit == _FIRST_CHUNK:
            self._register()
        self._limit = min(self._limit * 2, _LAST_CHUNK)

    def _register(self) -> None:
        # A weak reference: a scan that is not read any more must not collect former values,
        # also if it was not closed.
        scans, number = self._store._scans, id(self)
        scans[number] = ref(self, lambda _: scans.pop(number, None))
