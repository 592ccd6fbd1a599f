"""The buffer of stream-table joins with a grace period, where stream records wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any

from penstock.errors import NullArgumentError
from penstock.model.record import RecordContext
from penstock.model.time.duration import MAX_LONG
from penstock.state.buffer.buffer_value import BufferValue, with_time
from penstock.state.buffer.buffered import Buffered, Eviction
from penstock.state.bytes_store import BytesStore
from penstock.state.codec import Codec
from penstock.state.engine.segments import META
from penstock.state.environment import Changelog
from penstock.state.protocols import FlushListener
from penstock.state.spec import StoreKind, StoreSpec
from penstock.state.window.window_bytes import ChangelogRecord, next_sequence
from penstock.state.window.window_keys import (
    KEY_FIRST,
    TIME_FIRST,
    split_time_first_window_key,
    time_first_bound,
    time_first_window_key,
)

_META = Struct(">qq")


class JoinBuffer:
    """All waiting records of a stream by time, key and order of arrival, in an ordered map.

    A record waits until stream time (the highest time that was put) is ahead of it by the grace
    period. A record that is already that late is refused. Stream time survives a restart.
    """

    def __init__(
        self,
        spec: StoreSpec,
        store: BytesStore,
        *,
        keys: Codec,
        values: Codec,
        changelog: Changelog | None,
        context: RecordContext,
    ) -> None:
        self.name = spec.name
        self.kind: StoreKind = spec.kind
        self.persistent = spec.persistent
        self.num_records = 0
        self.buffer_size_bytes = 0
        self.min_timestamp = MAX_LONG
        self._grace_ms = spec.retention_ms
        self._store = store
        self._keys = keys
        self._values = values
        self._changelog = changelog
        self._context = context
        self._stream_time = -1
        self._sequence = 0
        self._is_open = True
        self._read_existing()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def put(self, time: int, key: Any, value: Any, record_context: RecordContext) -> bool:
        """Add a record at ``record_context.timestamp``; ``time`` is not used here."""
        if value is None:
            raise NullArgumentError("null-value", f"buffer {self.name!r}: the value is None")
        timestamp = record_context.timestamp
        raw_key = self._keys.write_key(key)
        if timestamp < self._stream_time - self._grace_ms:
            return False
        self._sequence = next_sequence(self._sequence)
        place = time_first_window_key(raw_key, timestamp, self._sequence)
        buffered = BufferValue(None, None, self._values.write_checked(value), record_context.copy())
        self._write(place, buffered.encode())
        self._count(place, buffered)
        return True

    def evict_while(
        self, predicate: Callable[[], bool], callback: Callable[[Eviction], None]
    ) -> None:
        due = self._stream_time - self._grace_ms
        if due < self.min_timestamp or not predicate():
            return
        bounds = time_first_bound(self.min_timestamp), time_first_bound(due + 1)
        for place, data in self._store.scan(*bounds):
            raw_key, timestamp, _ = split_time_first_window_key(place)
            self.min_timestamp = timestamp
            if not predicate():
                return
            found = BufferValue.decode(data)
            key, value = self._keys.read_checked(raw_key), self._values.read_checked(found.new)
            callback(Eviction(key, value, found.context))
            self._write(place, None)
            self._uncount(place, found)
        self.min_timestamp = due + 1 if self.num_records else MAX_LONG

    def prior_value_for_buffered(self, key: Any) -> Buffered:
        """Return nothing: a record of a stream has no prior value."""
        return Buffered(False, None)

    def flush(self) -> None:
        self._store.put(META, _META.pack(self._stream_time, self._sequence))

    def close(self) -> None:
        self._is_open = False
        self._store.close()

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        for place, data, _ in records:
            replaced = self._store.get(place)
            if replaced is not None:
                self._uncount(place, BufferValue.decode(replaced))
            _, timestamp, sequence = split_time_first_window_key(place)
            self._stream_time = max(self._stream_time, timestamp)
            self._sequence = max(self._sequence, sequence)
            if data is None:
                self._store.put(place, None)
            else:
                buffered = BufferValue.decode(data)
                self._store.put(place, buffered.encode())
                self._count(place, buffered)

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        return False

    def _write(self, place: bytes, data: bytes | None) -> None:
        self._store.put(place, data)
        if self._changelog is not None:
            # Kafka Streams appends a buffer time of 0. The time of the record is in the key.
            logged = None if data is None else with_time(data, 0)
            self._changelog.append(place, logged, self._context.timestamp)

    def _count(self, place: bytes, value: BufferValue) -> None:
        self.num_records += 1
        self.buffer_size_bytes += len(place) + value.size
        _, timestamp, _ = split_time_first_window_key(place)
        self.min_timestamp = min(self.min_timestamp, timestamp)
        self._stream_time = max(self._stream_time, timestamp)

    def _uncount(self, place: bytes, value: BufferValue) -> None:
        self.num_records -= 1
        self.buffer_size_bytes -= len(place) + value.size

    def _read_existing(self) -> None:
        for place, data in self._store.scan(TIME_FIRST, KEY_FIRST):
            self._count(place, BufferValue.decode(data))
        meta = self._store.get(META)
        if meta is not None:
            stream_time, self._sequence = _META.unpack(meta)
            self._stream_time = max(self._stream_time, stream_time)
