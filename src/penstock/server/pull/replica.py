"""A copy of one table in this process: every row of its topic, kept up to date by a thread."""

from __future__ import annotations

import logging
import shutil
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from penstock.errors import PenstockError, StreamsError
from penstock.kafka.topic_reader import Positions, has_reached
from penstock.kernel.record_queue import RawRecord
from penstock.model.record import Headers
from penstock.model.rules.ttl_rule import TtlRule
from penstock.server.reading import PartitionWatch, Place, Topics
from penstock.sql.catalog.catalog import DataSource
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.rocks import open_rocks

_log = logging.getLogger("penstock.server")
#: A replica without a query for this many seconds is closed; the next query opens a new one.
IDLE_S = 3_600.0
_POLL_S = 0.2
_CLOSE_S = 5.0
_PLACE = struct.Struct(">iqq")
_LENGTH = struct.Struct(">I")
_START = struct.Struct(">q")
_MAX_START = 2**63 - 1


class StoredRow(NamedTuple):
    """A row as the replica stores it: the bytes of its record, and the record's position."""

    key: bytes
    value: bytes
    timestamp: int
    partition: int
    offset: int
    headers: Headers


class TableReplica:
    """The rows of one table by key, and how much of the topic they contain.

    RocksDB has the rows, so a table may be larger than the memory. The folder is deleted with the
    replica: the topic has everything. All threads may read.

    The key of a windowed row is the length of the inner key, the inner key and the times of the
    window. So the windows of one key are neighbours, even if other keys begin with its bytes.

    Args:
        source: The table.
        topics: The topics of the cluster.
        ends: The partitions of the topic, with their present ends.
        folder: Where RocksDB keeps the rows.
        idle: Called in the replica's thread after ``IDLE_S`` seconds without a query.
    """

    def __init__(
        self,
        source: DataSource,
        topics: Topics,
        ends: Mapping[Place, int],
        folder: Path,
        idle: Callable[[TableReplica], None],
    ) -> None:
        self.source = source
        self._idle = idle
        self.failure: PenstockError | None = None
        self.asked_at = time.monotonic()
        self._window_bytes = _window_bytes(source)
        self._keeps_headers = bool(source.schema.headers)
        self._folder = folder
        self._store: BytesStore = open_rocks(folder, source.name, is_logged=False)
        self._topics = topics
        self._positions: Positions = dict.fromkeys(ends, 0)
        self._ends: Positions = dict(ends)
        self._watch = PartitionWatch(topics, source.topic, len(ends))
        #: The time of the newest record, by partition.
        self._stream_times: dict[int, int] = {}
        self._changed = threading.Condition()
        self._closing = threading.Event()
        #: Set once the rows that were there at the start are all here.
        self.is_complete = has_reached(self._positions, ends)
        self._is_loading = not self.is_complete
        self._reader = topics.reader(self._positions, is_eager=self._is_loading)
        self._start = dict(ends)
        self._thread = threading.Thread(
            target=self._run, name=f"penstock-replica-{source.name}", daemon=True
        )
        self._thread.start()

    # Life

    def close(self) -> None:
        """Stop following the topic and delete the copy."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_S)
        self._store.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self._take(self._reader.read(_POLL_S))
                self._watch.check()
                if self._is_loading and self.is_complete:
                    self._follow()
                if time.monotonic() - self.asked_at > IDLE_S:
                    self._idle(self)
        except PenstockError as error:
            self._fail(error)
        # A copy that no longer follows its topic must not answer, whatever the error was.
        except Exception as error:  # noqa: BLE001
            text = f"the copy of table {self.source.name} has failed: {error!r}"
            self._fail(StreamsError("copy-failed", text, fix="ask again: a new copy is made"))
        finally:
            self._reader.close()

    def _follow(self) -> None:
        """Replace the reader by one that polls the broker less often while nothing is written."""
        self._is_loading = False
        eager, self._reader = self._reader, self._topics.reader(self._reader.positions)
        eager.close()

    def _fail(self, error: PenstockError) -> None:
        if self._closing.is_set():
            return
        _log.error("table %s is no longer followed: %s", self.source.name, error)
        with self._changed:
            self.failure = error
            self._changed.notify_all()

    def _take(self, records: list[RawRecord]) -> None:
        if records:
            self._store.write([self._write(record) for record in records if self._has_row(record)])
            times = self._stream_times
            for record in records:
                if record.timestamp > times.get(record.partition, -1):
                    times[record.partition] = record.timestamp
        with self._changed:
            self._positions = dict(self._reader.positions)
            self._ends.update(self._reader.ends())
            self.is_complete = self.is_complete or has_reached(self._positions, self._start)
            self._changed.notify_all()

    def _has_row(self, record: RawRecord) -> bool:
        """Return whether a record can be a row: its key exists and is long enough for a window."""
        return record.key is not None and len(record.key) >= self._window_bytes

    def _write(self, record: RawRecord) -> tuple[bytes, bytes | None]:
        key = self.stored_key(record.key or b"")
        if record.value is None:
            return key, None
        place = _PLACE.pack(record.partition, record.offset, record.timestamp)
        if not self._keeps_headers:
            return key, place + record.value
        headers = msgspec.msgpack.encode(record.headers)
        return key, b"".join((place, _LENGTH.pack(len(headers)), headers, record.value))

    # How far it is

    @property
    def positions(self) -> Positions:
        """The offset of the next record that the rows do not contain, by partition."""
        return self._positions

    @property
    def lag(self) -> int:
        """How many offsets of the topic the rows do not contain, as far as is known."""
        positions = self._positions
        return sum(max(end - positions.get(place, 0), 0) for place, end in self._ends.items())

    def wait(self, positions: Mapping[Place, int] | None, timeout_s: float) -> bool:
        """Wait until the rows contain everything before these positions.

        None waits for the records that were there when the replica started.

        Raises:
            PenstockError: why the topic cannot be read.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self.failure is not None or self._contains(positions), timeout_s
            )
        if self.failure is not None:
            raise self.failure
        return self._contains(positions)

    def _contains(self, positions: Mapping[Place, int] | None) -> bool:
        if positions is None:
            return self.is_complete
        return self.is_complete and has_reached(self._positions, positions)

    # Rows

    def stored_key(self, key: bytes) -> bytes:
        """Return the key under which the row of a record's key is kept."""
        if not self._window_bytes:
            return key
        return _LENGTH.pack(len(key) - self._window_bytes) + key

    def get(self, key: bytes) -> StoredRow | None:
        """Return the row of a key; only for tables without windows."""
        data = self._store.get(key)
        return None if data is None else self._row(key, data)

    def windows(self, key: bytes, first: int | None, last: int | None) -> Iterator[StoredRow]:
        """Return the rows of all windows of a key.

        Args:
            key: the bytes of the inner key.
            first: the start of the first window that is wanted. Sessions are not chosen by start.
            last: the start of the last one.
        """
        prefix = _LENGTH.pack(len(key)) + key
        low, high = prefix, prefix + b"\xff" * (self._window_bytes + 1)
        if self._window_bytes == _START.size:
            if first is not None and first > 0:
                low = prefix + _START.pack(min(first, _MAX_START))
            if last is not None:
                if last < 0:
                    return
                if last < _MAX_START:
                    high = prefix + _START.pack(last + 1)
        for stored, data in self._store.scan(low, high):
            yield self._row(stored, data)

    def scan(self, low: bytes | None = None, high: bytes | None = None) -> Iterator[StoredRow]:
        """Return the rows from ``low`` on and before ``high``, in the order of the keys' bytes."""
        for stored, data in self._store.scan(low, high):
            yield self._row(stored, data)

    def is_alive(self, row: StoredRow) -> bool:
        """Return whether a row's time to live is not over, by the stream time of its partition."""
        ttl_ms = self.source.ttl_ms
        if ttl_ms is None:
            return True
        return TtlRule(ttl_ms).is_alive(row.timestamp, self._stream_times.get(row.partition, -1))

    def _row(self, stored: bytes, data: bytes) -> StoredRow:
        key = stored[_LENGTH.size :] if self._window_bytes else stored
        partition, offset, timestamp = _PLACE.unpack_from(data)
        at = _PLACE.size
        headers: Headers = ()
        if self._keeps_headers:
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            headers = msgspec.msgpack.decode(data[at : at + length], type=_HeaderList)
            at += length
        return StoredRow(key, data[at:], timestamp, partition, offset, headers)

    @property
    def approximate_rows(self) -> int:
        return self._store.approximate_num_entries()


_HeaderList = tuple[tuple[str, bytes | None], ...]


def _window_bytes(source: DataSource) -> int:
    """Return how many bytes of a key are its window: none, the start, or end and start."""
    if source.window is None:
        return 0
    return 2 * _START.size if source.window.size_ms is None else _START.size
