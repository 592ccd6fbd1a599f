"""Rows that keep record headers: their bytes, their codecs and their changelog records.

A row begins with the size of its headers, then come the headers, eight bytes of time (not for
sessions) and the value, as Kafka Streams writes them (KIP-1271). The changelog record has the plain
value; time and headers are the record's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from struct import Struct
from typing import Any

from penstock.model.record import Headers, RecordContext
from penstock.model.versioned import (
    AggregationWithHeaders,
    ValueAndTimestamp,
    ValueTimestampHeaders,
)
from penstock.serde.base import Serde
from penstock.state.codec import Codec
from penstock.state.environment import Changelog, StoreEnvironment
from penstock.state.spec import StoreHeaders, StoreSpec

#: A changelog record of a store that keeps headers.
LoggedWithHeaders = tuple[bytes, bytes | None, int, Headers]

_LONG = Struct(">q")
_NO_HEADERS = b"\0"


def encode_headers(headers: Headers) -> bytes:
    """Return the size of the headers, then the headers."""
    if not headers:
        return _NO_HEADERS
    parts = [_varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        size = -1 if value is None else len(value)
        parts += [_varint(len(encoded)), encoded, _varint(size), value or b""]
    body = b"".join(parts)
    return _varint(len(body)) + body


def split_row(row: bytes) -> tuple[Headers, bytes]:
    """Return the headers of a row, and what comes after them."""
    if row[0] == 0:
        return (), row[1:]
    size, at = _read_varint(row, 0)
    end = at + size
    count, at = _read_varint(row, at)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        length, at = _read_varint(row, at)
        name, at = row[at : at + length].decode(), at + length
        length, at = _read_varint(row, at)
        value = None if length < 0 else row[at : at + length]
        headers.append((name, value))
        at += max(length, 0)
    return tuple(headers), row[end:]


def timestamp_place(row: bytes) -> int:
    """Return where the timestamp of a row begins: after its headers."""
    size, at = _read_varint(row, 0)
    return at + size


def row_codecs(
    codec: Codec, spec: StoreSpec, env: StoreEnvironment, *, is_timestamped: bool
) -> dict[StoreHeaders, Codec]:
    """Return two codecs of the rows: one with headers in the values, one without."""
    write, read = _serde_calls(codec.serde, env.changelog_topic(spec.name))
    make_codecs = _timestamped_codecs if is_timestamped else _plain_codecs
    return make_codecs(codec, write, read, env.context)


_Write = Callable[[Any, Headers], bytes | None]
_Read = Callable[[bytes, Headers], Any]


def _serde_calls(serde: Serde[Any], topic: str) -> tuple[_Write, _Read]:
    """Return functions that skip topic and headers unless the serde uses them."""
    encode, decode, kind = serde.encode, serde.decode, type(serde)
    write: _Write = lambda value, headers: encode(value)  # noqa: E731
    if kind.serialize is not Serde.serialize:
        write = lambda value, headers: serde.serialize(topic, value, headers)  # noqa: E731
    read: _Read = lambda data, headers: decode(data)  # noqa: E731
    if kind.deserialize is not Serde.deserialize:
        read = lambda data, headers: serde.deserialize(topic, data, headers)  # noqa: E731
    return write, read


def _timestamped_codecs(
    codec: Codec, write: _Write, read: _Read, context: RecordContext
) -> dict[StoreHeaders, Codec]:
    def row(value: Any, timestamp: int, headers: Headers) -> bytes | None:
        data = None if value is None else write(value, headers)
        return None if data is None else encode_headers(headers) + _LONG.pack(timestamp) + data

    def write_shown(given: Any) -> bytes | None:
        try:
            value, timestamp, headers = given
        except (TypeError, ValueError):
            message = "the store takes ValueTimestampHeaders(value, timestamp, headers)"
            raise TypeError(message) from None
        return row(value, timestamp, tuple(headers))

    def write_kept(given: Any) -> bytes | None:
        value, timestamp = given
        return row(value, timestamp, context.headers)

    def read_shown(data: bytes) -> ValueTimestampHeaders:
        headers, rest = split_row(data)
        return ValueTimestampHeaders(read(rest[8:], headers), _LONG.unpack_from(rest)[0], headers)

    def read_kept(data: bytes) -> ValueAndTimestamp:
        headers, rest = split_row(data)
        return ValueAndTimestamp(read(rest[8:], headers), _LONG.unpack_from(rest)[0])

    return {
        StoreHeaders.SHOWN: replace(codec, write=write_shown, read=read_shown),
        StoreHeaders.KEPT: replace(codec, write=write_kept, read=read_kept),
    }


def _plain_codecs(
    codec: Codec, write: _Write, read: _Read, context: RecordContext
) -> dict[StoreHeaders, Codec]:
    def row(value: Any, headers: Headers) -> bytes | None:
        data = None if value is None else write(value, headers)
        return None if data is None else encode_headers(headers) + data

    def write_shown(given: Any) -> bytes | None:
        try:
            value, headers = given
        except (TypeError, ValueError):
            message = "the store takes AggregationWithHeaders(aggregation, headers)"
            raise TypeError(message) from None
        return row(value, tuple(headers))

    def read_shown(data: bytes) -> AggregationWithHeaders:
        headers, rest = split_row(data)
        return AggregationWithHeaders(read(rest, headers), headers)

    def read_kept(data: bytes) -> Any:
        headers, rest = split_row(data)
        return read(rest, headers)

    return {
        StoreHeaders.SHOWN: replace(codec, write=write_shown, read=read_shown),
        StoreHeaders.KEPT: replace(
            codec, write=lambda value: row(value, context.headers), read=read_kept
        ),
    }


def face(store: Any, headers: StoreHeaders) -> Any:
    """Return a store over the same rows whose values have headers, or do not have them.

    A store without headers is returned as it is.
    """
    if StoreHeaders.NONE in (store.headers, headers) or store.headers is headers:
        return store
    other = copy(store)
    other.headers = headers
    other.use_values(store.codecs[headers])
    return other


class HeadersChangelog:
    """Logs rows with headers: headers and time are those of the changelog record.

    So the changelog looks like that of a store without headers, as in Kafka Streams. A tombstone
    has the headers of the record that is being processed.
    """

    def __init__(self, inner: Changelog, context: RecordContext, *, is_timestamped: bool) -> None:
        self._append = inner.append
        self._context = context
        self._is_timestamped = is_timestamped

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        if value is None:
            self._append(key, None, timestamp, self._context.headers)
            return
        headers, plain = split_row(value)
        if self._is_timestamped:
            timestamp, plain = _LONG.unpack_from(plain)[0], plain[8:]
        self._append(key, plain, timestamp, headers)

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            self.append(key, value, timestamp)


def restored_rows(
    records: Iterable[LoggedWithHeaders], *, is_timestamped: bool
) -> Iterator[tuple[bytes, bytes | None, int]]:
    """Turn changelog records into rows. A record without headers becomes a row without them."""
    for key, value, timestamp, headers in records:
        if value is None:
            yield key, None, timestamp
        else:
            time = _LONG.pack(timestamp) if is_timestamped else b""
            yield key, encode_headers(headers) + time + value, timestamp


def _varint(number: int) -> bytes:
    """Return Kafka's variable-length form of an integer: small numbers take one byte."""
    rest = (number << 1) ^ (number >> 31)
    data = bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number and the place after it."""
    rest = shift = 0
    while data[at] & 0x80:
        rest |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    rest |= data[at] << shift
    return (rest >> 1) ^ -(rest & 1), at + 1
