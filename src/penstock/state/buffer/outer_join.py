"""The store of left and outer stream-stream joins: records that have found no partner yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from struct import Struct
from typing import Any, NamedTuple

from penstock.state.bytes_store import BytesStore, Entry
from penstock.state.codec import Codec, key_codec, value_codec
from penstock.state.engine.closed import ClosedStore
from penstock.state.engine.memory import MemoryStore
from penstock.state.environment import Changelog, StoreEnvironment
from penstock.state.iterators import PeekingIterator
from penstock.state.layers.changelogged import ChangeLogged
from penstock.state.protocols import FlushListener
from penstock.state.spec import StoreKind, StoreSpec
from penstock.state.window.window_bytes import ChangelogRecord

_KEY_HEAD = Struct(">q?")
_INT = Struct(">i")
_LIST_HEAD = Struct(">bi")
#: Kafka's list serde marks lists with items of different sizes with this byte.
_VARIABLE_SIZE = 1


class OuterJoinKey(NamedTuple):
    """The record's time, whether it came from the left, its key."""

    timestamp: int
    is_left: bool
    key: Any


class OuterJoinValue(NamedTuple):
    """A value, and whether it is from the left side."""

    is_left: bool
    value: Any


class BulkWaiting:
    """All entries of the store in bytes, for batches over columns."""

    def __init__(
        self,
        engine: BytesStore,
        changelog: Changelog | None,
        keys: Codec,
        sides: tuple[Codec, Codec],
    ) -> None:
        self._engine = engine
        self._changelog = changelog
        self.keys = keys
        self.right, self.left = sides

    def __len__(self) -> int:
        return self._engine.approximate_num_entries()

    def read(self) -> list[tuple[bytes, bytes]]:
        """Return keys, sorted, and lists of values as bytes; see ``waiting_key``."""
        return [*self._engine.scan(None, None)]

    def write(self, writes: Sequence[tuple[bytes, bytes | None, int]]) -> None:
        """Replace lists in this order, each with the timestamp of its change."""
        self._engine.write([*{key: data for key, data, _ in writes}.items()])
        if self._changelog is not None:
            # One by one, because a key may come several times.
            for key, data, timestamp in writes:
                self._changelog.append(key, data, timestamp)


def waiting_key(timestamp: int, is_left: bool, key: bytes) -> bytes:
    """Return the key of the values that wait under a time, a side and a key."""
    return _KEY_HEAD.pack(timestamp, is_left) + key


def split_waiting_key(data: bytes) -> tuple[int, bool, bytes]:
    timestamp, is_left = _KEY_HEAD.unpack_from(data)
    return timestamp, is_left, data[_KEY_HEAD.size :]


class OuterJoinStore:
    """Several values per key, in the order of their puts. Keys are by time, right side first.

    A put adds a value. A put of None deletes the key with all of its values. The changelog
    gets the whole list each time, in the bytes of Kafka's list serde.
    """

    def __init__(
        self,
        spec: StoreSpec,
        inner: BytesStore,
        restored: BytesStore,
        *,
        keys: Codec,
        sides: tuple[Codec, Codec],
        bulk: BulkWaiting | None = None,
    ) -> None:
        self.name = spec.name
        self.bulk = bulk
        self.kind: StoreKind = spec.kind
        self.persistent = spec.persistent
        self._inner = inner
        self._restored = restored
        self._keys = keys
        self._right, self._left = sides
        self._is_open = True

    @property
    def is_open(self) -> bool:
        return self._is_open

    def put(self, key: tuple[int, bool, Any], value: tuple[bool, Any] | None) -> None:
        raw_key = self._write_key(key)
        data = None if value is None else self._write_value(value)
        if data is None:
            self._inner.put(raw_key, None)
        else:
            self._inner.put(raw_key, appended(self._inner.get(raw_key), data))

    def delete_if_present(self, key: tuple[int, bool, Any]) -> None:
        """Delete and log the key only if it has values: most records have found a partner."""
        raw_key = self._write_key(key)
        if self._inner.get(raw_key) is not None:
            self._inner.put(raw_key, None)

    def all(self) -> PeekingIterator[tuple[OuterJoinKey, OuterJoinValue]]:
        return PeekingIterator(self._decoded(self._inner.scan(None, None)))

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries()

    def flush(self) -> None:
        return None

    def close(self) -> None:
        inner, self._is_open = self._inner, False
        self._inner = self._restored = ClosedStore(self.name)
        inner.close()

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._restored.write([(key, value) for key, value, _ in records])

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        return False

    def _decoded(self, entries: Iterator[Entry]) -> Iterator[tuple[OuterJoinKey, OuterJoinValue]]:
        for raw_key, data in entries:
            timestamp, is_left = _KEY_HEAD.unpack_from(raw_key)
            inner_key = self._keys.read_checked(raw_key[_KEY_HEAD.size :])
            key = OuterJoinKey(timestamp, is_left, inner_key)
            for item in items_of(data):
                yield key, self._read_value(item)

    def _write_key(self, key: tuple[int, bool, Any]) -> bytes:
        timestamp, is_left, inner_key = key
        return _KEY_HEAD.pack(timestamp, is_left) + self._keys.write_key(inner_key)

    def _write_value(self, value: tuple[bool, Any]) -> bytes | None:
        is_left, inner_value = value
        data = (self._left if is_left else self._right).write_checked(inner_value)
        return None if data is None else bytes([is_left]) + data

    def _read_value(self, data: bytes) -> OuterJoinValue:
        is_left = data[0] == 1
        side = self._left if is_left else self._right
        return OuterJoinValue(is_left, side.read_checked(data[1:]))


def appended(items: bytes | None, item: bytes) -> bytes:
    """Return a list of values with one more."""
    if items is None:
        return _LIST_HEAD.pack(_VARIABLE_SIZE, 1) + _INT.pack(len(item)) + item
    _, count = _LIST_HEAD.unpack_from(items)
    head = _LIST_HEAD.pack(_VARIABLE_SIZE, count + 1)
    return head + items[_LIST_HEAD.size :] + _INT.pack(len(item)) + item


def items_of(data: bytes) -> Iterator[bytes]:
    """Yield the values of a list. The first byte of each is 1 if it is from the left side."""
    place = _LIST_HEAD.size
    while place < len(data):
        size = _INT.unpack_from(data, place)[0]
        place += _INT.size
        yield data[place : place + size]
        place += size


def open_outer_join_store(spec: StoreSpec, env: StoreEnvironment) -> OuterJoinStore:
    """Open the store. ``value_serde`` is for the left side, ``other_value_serde`` for the right."""
    engine = env.engine(spec.name) if spec.persistent else MemoryStore()
    changelog = env.changelog(spec.name) if spec.logging else None
    right = value_codec(replace(spec, value_serde=spec.other_value_serde), env)
    keys, sides = key_codec(spec, env), (right, value_codec(spec, env))
    return OuterJoinStore(
        spec,
        engine if changelog is None else ChangeLogged(engine, changelog, env.context),
        engine,
        keys=keys,
        sides=sides,
        bulk=BulkWaiting(engine, changelog, keys, sides),
    )
