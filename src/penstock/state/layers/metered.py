"""The layer that counts and times the operations of a store, if metrics are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter_ns
from typing import Protocol

from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write


class Metrics(Protocol):
    """Receives the measurements: one call per operation of a store, with its duration."""

    def record(self, store: str, operation: str, elapsed_ns: int) -> None: ...

    def opened(self, store: str) -> int:
        """Note that an iterator yields its first entry; return a number for ``closed``."""

    def closed(self, store: str, number: int) -> None: ...


class Metered:
    """Times every call to the inner store, under Kafka Streams' names of the operations.

    An iterator is timed until its end or ``close``. ``range``, ``all`` and ``prefix_scan`` are all
    counted as ``range``, since all three are scans here.
    """

    def __init__(
        self,
        inner: BytesStore,
        store: str,
        metrics: Metrics,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        self._inner = inner
        self._store = store
        self._metrics = metrics
        self._record = metrics.record
        self._clock = clock

    def get(self, key: bytes) -> bytes | None:
        start = self._clock()
        value = self._inner.get(key)
        self._record(self._store, "get", self._clock() - start)
        return value

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        start = self._clock()
        values = self._inner.multi_get(keys)
        self._record(self._store, "get-all", self._clock() - start)
        return values

    def put(self, key: bytes, value: bytes | None) -> None:
        start = self._clock()
        self._inner.put(key, value)
        self._record(self._store, "put" if value is not None else "delete", self._clock() - start)

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        start = self._clock()
        self._inner.write(writes, deleted=deleted)
        self._record(self._store, "put-all", self._clock() - start)

    def delete_range(self, start: bytes, end: bytes) -> None:
        began = self._clock()
        self._inner.delete_range(start, end)
        self._record(self._store, "delete-range", self._clock() - began)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        began = self._clock()
        return self._timed(self._inner.scan(start, end, reverse=reverse), began)

    def _timed(self, entries: Iterator[Entry], began: int) -> Iterator[Entry]:
        number = self._metrics.opened(self._store)
        try:
            yield from entries
        finally:
            self._metrics.closed(self._store, number)
            self._record(self._store, "range", self._clock() - began)

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries()

    def flush(self) -> None:
        start = self._clock()
        self._inner.flush()
        self._record(self._store, "flush", self._clock() - start)

    def close(self) -> None:
        self._inner.close()
