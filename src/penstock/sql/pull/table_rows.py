"""The rows of a copied table, as its store has them: read by key, by window and by range."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

import msgspec

from penstock.kernel.record_queue import RawRecord
from penstock.model.record import Headers
from penstock.model.rules.ttl_rule import TtlRule
from penstock.sql.catalog.catalog import DataSource
from penstock.state.bytes_store import Entry, Write
from penstock.state.engine.as_of import StoreAsOf

_PLACE = struct.Struct(">iqq")
_LENGTH = struct.Struct(">I")
_START = struct.Struct(">q")
_MAX_START = 2**63 - 1
_HeaderList = tuple[tuple[str, bytes | None], ...]


class StoredRow(NamedTuple):
    """A row as the copy stores it: the bytes of its record, and the record's position."""

    key: bytes
    value: bytes
    timestamp: int
    partition: int
    offset: int
    headers: Headers


class Entries(Protocol):
    """What rows are read from: a store as it is, or as of an earlier moment."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes | None, end: bytes | None) -> Iterator[Entry]: ...


class RowForm:
    """How a record of a table becomes an entry of the store.

    The key of a windowed row is the length of the inner key, the inner key and the times of the
    window. So the windows of one key are neighbours, even if other keys begin with its bytes.
    """

    def __init__(self, source: DataSource) -> None:
        self.window_bytes = _window_bytes(source)
        self._keeps_headers = bool(source.schema.headers)

    def writes(self, records: Iterable[RawRecord]) -> list[Write]:
        """Return what records change. Only a key that is long enough for a window has a row."""
        least = self.window_bytes
        return [
            self._write(record)
            for record in records
            if record.key is not None and len(record.key) >= least
        ]

    def _write(self, record: RawRecord) -> Write:
        key = self._stored_key(record.key or b"")
        if record.value is None:
            return key, None
        place = _PLACE.pack(record.partition, record.offset, record.timestamp)
        if not self._keeps_headers:
            return key, place + record.value
        headers = msgspec.msgpack.encode(record.headers)
        return key, b"".join((place, _LENGTH.pack(len(headers)), headers, record.value))

    def _stored_key(self, key: bytes) -> bytes:
        if not self.window_bytes:
            return key
        return _LENGTH.pack(len(key) - self.window_bytes) + key

    def row(self, stored: bytes, data: bytes) -> StoredRow:
        key = stored[_LENGTH.size :] if self.window_bytes else stored
        partition, offset, timestamp = _PLACE.unpack_from(data)
        at = _PLACE.size
        headers: Headers = ()
        if self._keeps_headers:
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            headers = msgspec.msgpack.decode(data[at : at + length], type=_HeaderList)
            at += length
        return StoredRow(key, data[at:], timestamp, partition, offset, headers)


class TableRows:
    """The rows of one table. All threads may read.

    Args:
        source: The table.
        form: How its records are stored.
        entries: The store.
        stream_times: The time of the newest record, by partition.
    """

    def __init__(
        self, source: DataSource, form: RowForm, entries: Entries, stream_times: Mapping[int, int]
    ) -> None:
        self.source = source
        self._form = form
        self._entries = entries
        self._stream_times = stream_times

    @property
    def is_whole(self) -> bool:
        """Whether all rows can be read: those of an earlier moment are not kept for ever."""
        return not isinstance(self._entries, StoreAsOf) or self._entries.is_whole

    def get(self, key: bytes) -> StoredRow | None:
        """Return the row of a key; only for tables without windows."""
        data = self._entries.get(key)
        return None if data is None else self._form.row(key, data)

    def windows(self, key: bytes, first: int | None, last: int | None) -> Iterator[StoredRow]:
        """Return the rows of all windows of a key.

        Args:
            key: the bytes of the inner key.
            first: the start of the first window that is wanted. Sessions are not chosen by start.
            last: the start of the last one.
        """
        form = self._form
        prefix = _LENGTH.pack(len(key)) + key
        low, high = prefix, prefix + b"\xff" * (form.window_bytes + 1)
        if form.window_bytes == _START.size:
            if first is not None and first > 0:
                low = prefix + _START.pack(min(first, _MAX_START))
            if last is not None:
                if last < 0:
                    return
                if last < _MAX_START:
                    high = prefix + _START.pack(last + 1)
        yield from self.scan(low, high)

    def scan(self, low: bytes | None = None, high: bytes | None = None) -> Iterator[StoredRow]:
        """Return the rows from ``low`` on and before ``high``, in the order of the keys' bytes."""
        row = self._form.row
        for stored, data in self._entries.scan(low, high):
            yield row(stored, data)

    def differences(self, before: TableRows) -> Iterator[tuple[StoredRow | None, StoredRow | None]]:
        """Yield each row that is another one than before, with what it was; None is no row.

        Both are moments that cuts keep. Without what was overwritten between them all rows are
        compared.
        """
        now, then, row = self._entries, before._entries, self._form.row
        changed = None
        if isinstance(now, StoreAsOf) and isinstance(then, StoreAsOf):
            changed = then.changed_until(now)
        if changed is None:
            changed = {key for each in (then, now) for key, _ in each.scan(None, None)}
        for key in sorted(changed):
            old, new = then.get(key), now.get(key)
            if old != new:
                yield (
                    None if old is None else row(key, old),
                    None if new is None else row(key, new),
                )

    def is_alive(self, row: StoredRow) -> bool:
        """Return whether a row's time to live is not over, by the stream time of its partition."""
        ttl_ms = self.source.ttl_ms
        if ttl_ms is None:
            return True
        return TtlRule(ttl_ms).is_alive(row.timestamp, self._stream_times.get(row.partition, -1))


def _window_bytes(source: DataSource) -> int:
    """Return how many bytes of a key are its window: none, the start, or end and start."""
    if source.window is None:
        return 0
    return 2 * _START.size if source.window.size_ms is None else _START.size
