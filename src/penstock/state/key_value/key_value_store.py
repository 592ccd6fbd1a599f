"""Typed key-value stores, for users and operators. The layers below: ``penstock.state.open``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.model.record import Headers
from penstock.serde.base import Serde
from penstock.state.bytes_store import BytesStore, Entry, Write
from penstock.state.codec import Codec
from penstock.state.engine.closed import ClosedStore
from penstock.state.expiring import Expiring
from penstock.state.header_rows import LoggedWithHeaders, restored_rows
from penstock.state.iterators import PeekingIterator, empty_iterator
from penstock.state.layers.bulk import BulkRows
from penstock.state.layers.cached_key_value import CachedKeyValue
from penstock.state.protocols import FlushListener
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec

K = TypeVar("K")
V = TypeVar("V")

Restored = tuple[bytes, bytes | None, int]

_log = logging.getLogger(__name__)


class TypedKeyValueStore(Generic[K, V]):
    """A map from key to value over a map of bytes.

    A plain and a timestamped store differ only in their value codec. After ``close`` every call
    raises an error, also of a bound method that was taken before.
    """

    def __init__(
        self,
        spec: StoreSpec,
        inner: BytesStore,
        *,
        keys: Codec,
        values: Codec,
        restore: Callable[[Iterable[Any]], None],
        cached: CachedKeyValue | None = None,
        bulk: BulkRows | None = None,
        codecs: Mapping[StoreHeaders, Codec] | None = None,
        aging: Expiring | None = None,
    ) -> None:
        self.name = spec.name
        #: Access to rows of whole batches; None if rows must be read and written one by one.
        self.bulk = bulk
        self.kind: StoreKind = spec.kind
        self.persistent = spec.persistent
        self.headers: StoreHeaders = spec.headers
        #: The codecs of rows with headers, with and without headers in values; empty without
        #: headers.
        self.codecs: Mapping[StoreHeaders, Codec] = codecs or {}
        self._keys = keys
        self._restore = restore
        self._cached = cached
        self._aging = aging
        self._is_open = True
        self._write_key = keys.write
        self.use_values(values)
        self._bind(inner)

    def use_values(self, values: Codec) -> None:
        """Use this codec for values from now on."""
        self._values = values
        self._write_value = values.write
        self._read_value = values.read

    def _bind(self, inner: BytesStore) -> None:
        self._inner = inner
        self._get = inner.get
        self._put = inner.put

    @property
    def is_open(self) -> bool:
        return self._is_open

    def get(self, key: K) -> V | None:
        if key is None:
            raise self._keys.null_key()
        try:
            raw_key = self._write_key(key)
        except Exception as error:
            raise self._keys.unfit(key, error) from error
        data = self._get(raw_key)  # type: ignore[arg-type]
        if data is None:
            return None
        try:
            return self._read_value(data)  # type: ignore[no-any-return]
        except Exception as error:
            raise self._values.unreadable(data, error) from error

    def put(self, key: K, value: V | None) -> None:
        if key is None:
            raise self._keys.null_key()
        try:
            raw_key = self._write_key(key)
        except Exception as error:
            raise self._keys.unfit(key, error) from error
        try:
            data = None if value is None else self._write_value(value)
        except Exception as error:
            raise self._values.unfit(value, error) from error
        self._put(raw_key, data)  # type: ignore[arg-type]

    def read(self, key: K) -> tuple[bytes, V | None]:
        """Return the bytes of the key, for a following ``write``, and its value."""
        if key is None:
            raise self._keys.null_key()
        try:
            raw_key = self._write_key(key)
        except Exception as error:
            raise self._keys.unfit(key, error) from error
        data = self._get(raw_key)  # type: ignore[arg-type]
        if data is None:
            return raw_key, None  # type: ignore[return-value]
        try:
            return raw_key, self._read_value(data)  # type: ignore[return-value]
        except Exception as error:
            raise self._values.unreadable(data, error) from error

    def write(self, raw_key: bytes, value: V | None) -> None:
        """Put a value, with the bytes of the key from ``read``."""
        try:
            data = None if value is None else self._write_value(value)
        except Exception as error:
            raise self._values.unfit(value, error) from error
        self._put(raw_key, data)

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Put the value if the key has none; return the value it had."""
        raw_key = self._keys.write_key(key)
        old = self._get(raw_key)
        if old is None:
            self._put(raw_key, self._values.write_checked(value))
        return self._values.read_checked(old)  # type: ignore[no-any-return]

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Put all entries, or none if one of them does not fit its serde."""
        write_key, write_value = self._keys.write_key, self._values.write_checked
        self._inner.write([(write_key(key), write_value(value)) for key, value in entries])

    def delete(self, key: K) -> V | None:
        """Delete the key; return the value it had."""
        raw_key = self._keys.write_key(key)
        old = self._get(raw_key)
        self._put(raw_key, None)
        return self._values.read_checked(old)  # type: ignore[no-any-return]

    def range(self, start: K | None, end: K | None) -> PeekingIterator[tuple[K, V]]:
        return self._range(start, end, reverse=False)

    def reverse_range(self, start: K | None, end: K | None) -> PeekingIterator[tuple[K, V]]:
        return self._range(start, end, reverse=True)

    def all(self) -> PeekingIterator[tuple[K, V]]:
        return self._iterate(self._inner.scan(None, None))

    def reverse_all(self) -> PeekingIterator[tuple[K, V]]:
        return self._iterate(self._inner.scan(None, None, reverse=True))

    def prefix_scan(self, prefix: Any, serializer: Any) -> PeekingIterator[tuple[K, V]]:
        """Return the entries whose key bytes begin with the bytes of the prefix.

        Args:
            prefix: The prefix, of a type that the serializer can write.
            serializer: A serde, or a function from the prefix to bytes.
        """
        start = prefix_bytes(self.name, prefix, serializer)
        return self._iterate(self._inner.scan(start, after_prefix(start)))

    def approximate_num_entries(self) -> int:
        return self._inner.approximate_num_entries()

    def __getitem__(self, key: K) -> V:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        raw_key = self._keys.write_key(key)
        if self._get(raw_key) is None:
            raise KeyError(key)
        self._put(raw_key, None)

    def __contains__(self, key: K) -> bool:
        return self._get(self._keys.write_key(key)) is not None

    def __iter__(self) -> Iterator[K]:
        read_key = self._keys.read_checked
        return (read_key(key) for key, _ in self._inner.scan(None, None))

    def flush(self) -> None:
        """Delete rows that have expired, and flush the cache.

        This does not flush the engine.
        """
        if self._aging is not None and self._is_open:
            self._aging.sweep()
        if self._cached is not None and self._is_open:
            self._cached.flush_cache()

    def close(self) -> None:
        inner, self._is_open = self._inner, False
        self._bind(ClosedStore(self.name))
        inner.close()

    def restore(self, records: Iterable[Any]) -> None:
        """Apply changelog records. For a store with headers, they have headers as fourth part."""
        self._restore(records)
        if self._aging is not None:
            self._aging.forget()

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        """Let the cache call the listener, with ``ValueAndTimestamp`` if the store has them."""
        if self._cached is None:
            return False
        keys, values = self._keys, self._values
        read_key, read_value = keys.read, values.read

        def pass_on(
            key: bytes, new: bytes | None, old: bytes | None, timestamp: int, headers: Headers
        ) -> None:
            try:
                typed_key = read_key(key)
                new_row = None if new is None else read_value(new)
                old_row = None if old is None else read_value(old)
            except Exception:
                # Read the rows one by one, to find the one that is unreadable.
                keys.read_checked(key), values.read_checked(new), values.read_checked(old)
                raise
            listener(typed_key, new_row, old_row, timestamp, headers)

        self._cached.set_flush_listener(pass_on, send_old=send_old)
        return True

    def _range(
        self, start: K | None, end: K | None, *, reverse: bool
    ) -> PeekingIterator[tuple[K, V]]:
        first = self._keys.write_checked(start)
        last = self._keys.write_checked(end)
        if first is not None and last is not None and first > last:
            warn_of_empty_range(self.name, start, end)
            return empty_iterator()
        stop = None if last is None else last + b"\0"
        return self._iterate(self._inner.scan(first, stop, reverse=reverse))

    def _iterate(self, entries: Iterator[Entry]) -> PeekingIterator[tuple[K, V]]:
        return PeekingIterator(self._decode(entries))

    def _decode(self, entries: Iterator[Entry]) -> Iterator[tuple[K, V]]:
        read_key, read_value = self._keys.read, self._values.read
        for key, value in entries:
            try:
                typed_key = read_key(key)
            except Exception as error:
                raise self._keys.unreadable(key, error) from error
            try:
                typed_value = read_value(value)
            except Exception as error:
                raise self._values.unreadable(value, error) from error
            yield typed_key, typed_value


def prefix_bytes(store: str, prefix: Any, serializer: Any) -> bytes:
    """Return the bytes with which keys begin.

    Args:
        serializer: A serde, or a function from the prefix to bytes.

    Raises:
        InvalidArgumentError: ``bad-prefix``, if it cannot write the prefix.
    """
    if prefix is None or serializer is None:
        what = "prefix" if prefix is None else "serializer"
        raise NullArgumentError("null-argument", f"store {store!r}: the {what} is None")
    write = serializer.encode if isinstance(serializer, Serde) else serializer
    try:
        return bytes(write(prefix))
    except Exception as error:
        raise InvalidArgumentError(
            "bad-prefix",
            f"store {store!r}: prefix {prefix!r} cannot be written by {serializer!r}"
            f" ({type(error).__name__}: {error})",
            fix="give a serde, or a function from the prefix to bytes",
        ) from error


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the first key after all keys with the prefix; None if there is no such key."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def warn_of_empty_range(store: str, start: object, end: object) -> None:
    """Log why a range is empty. As in Kafka Streams, it is not an error."""
    _log.warning(
        "store %r: range from %r to %r is empty, the bytes of its start come after those of its"
        " end; are they in the wrong order, or does the serde not keep order (numbers below"
        " zero do not)?",
        store,
        start,
        end,
    )


def plain_restore(apply: Callable[[Iterable[Write]], None]) -> Callable[[Iterable[Restored]], None]:
    """Restore a plain store, whose rows are the values of the changelog."""
    return lambda records: apply((key, value) for key, value, _ in records)


def timestamped_restore(
    apply: Callable[[Iterable[Write]], None],
) -> Callable[[Iterable[Restored]], None]:
    """Restore a timestamped store: a row is the time of the changelog record, then the value."""

    def restore(records: Iterable[Restored]) -> None:
        apply(
            (key, None if value is None else timestamp.to_bytes(8, "big", signed=True) + value)
            for key, value, timestamp in records
        )

    return restore


def headers_restore(
    apply: Callable[[Iterable[Write]], None],
) -> Callable[[Iterable[LoggedWithHeaders]], None]:
    """Restore a store with headers: a row is headers and time of the record, then the value."""

    def restore(records: Iterable[LoggedWithHeaders]) -> None:
        rows = restored_rows(records, is_timestamped=True)
        apply((key, value) for key, value, _ in rows)

    return restore
