"""Lists of anything, in the format of Kafka's ``ListSerializer``."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from penstock.model.record import Headers
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.inner import inner_bytes
from penstock.serde.primitives import (
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    UUIDSerde,
)

T = TypeVar("T")

_SIZES: dict[type[Serde[Any]], int] = {
    ShortSerde: 2,
    IntegerSerde: 4,
    FloatSerde: 4,
    LongSerde: 8,
    DoubleSerde: 8,
    UUIDSerde: 36,
}
_CONSTANT_SIZE = b"\x00"
_VARIABLE_SIZE = b"\x01"
_NONE = b"\xff\xff\xff\xff"

_INT = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class ListSerde(Serde[list[T | None]]):
    """A list whose entries may be None.

    Entries of a fixed size stand side by side after a list of the positions that are None; all
    others have their length in front, which is -1 for None.

    >>> from penstock.serde.primitives import StringSerde
    >>> ListSerde(StringSerde()).encode(["a", None]).hex()
    '01000000020000000161ffffffff'
    """

    inner: Serde[T]

    def encode(self, value: list[T | None]) -> bytes:
        return self._write("", value, ())

    def decode(self, data: bytes) -> list[T | None]:
        return self._read("", data, ())

    def serialize(
        self, topic: str, value: list[T | None] | None, headers: Headers = ()
    ) -> bytes | None:
        return None if value is None else self._write(topic, value, headers)

    def deserialize(
        self, topic: str, data: bytes | None, headers: Headers = ()
    ) -> list[T | None] | None:
        return None if data is None else self._read(topic, data, headers)

    def with_defaults(self, defaults: SerdeDefaults) -> Serde[list[T | None]]:
        return replace(self, inner=self.inner.with_defaults(defaults))

    def _write(self, topic: str, value: list[T | None], headers: Headers) -> bytes:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"list serde takes a list, got {type(value).__name__} {value!r:.80}")
        entries = [
            None if entry is None else inner_bytes(self.inner, topic, entry, headers, "list entry")
            for entry in value
        ]
        return _constant_size(entries) if type(self.inner) in _SIZES else _variable_size(entries)

    def _read(self, topic: str, data: bytes, headers: Headers) -> list[T | None]:
        try:
            entries = list(_split(data, _SIZES.get(type(self.inner))))
        except struct.error:
            raise ValueError(f"list serde: {len(data)} bytes end in the middle of a list") from None
        return [self.inner.deserialize(topic, entry, headers) for entry in entries]


def _constant_size(entries: list[bytes | None]) -> bytes:
    nones = [position for position, entry in enumerate(entries) if entry is None]
    numbers = [len(nones), *nones, len(entries)]
    head = _CONSTANT_SIZE + struct.pack(f">{len(numbers)}i", *numbers)
    return head + b"".join(entry for entry in entries if entry is not None)


def _variable_size(entries: list[bytes | None]) -> bytes:
    parts = [_VARIABLE_SIZE, _INT.pack(len(entries))]
    for entry in entries:
        parts += (_NONE,) if entry is None else (_INT.pack(len(entry)), entry)
    return b"".join(parts)


def _split(data: bytes, size: int | None) -> Iterator[bytes | None]:
    """Yield the bytes of each entry; raise ``struct.error`` if the bytes end too early."""
    layout = data[:1]
    if layout == _CONSTANT_SIZE and size is not None:
        nones, at = _ints(data, 1)
        (count,) = _INT.unpack_from(data, at)
        return _split_constant(data, at + 4, size, count, set(nones))
    if layout == _VARIABLE_SIZE:
        (count,) = _INT.unpack_from(data, 1)
        return _split_variable(data, 5, count)
    raise ValueError(
        f"list serde: layout byte {layout.hex() or 'missing'} does not fit the entries"
    )


def _ints(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    (count,) = _INT.unpack_from(data, at)
    numbers = struct.unpack_from(f">{max(count, 0)}i", data, at + 4)
    return numbers, at + 4 + 4 * len(numbers)


def _split_constant(
    data: bytes, at: int, size: int, count: int, nones: set[int]
) -> Iterator[bytes | None]:
    for position in range(count):
        if position in nones:
            yield None
        else:
            yield _slice(data, at, size)
            at += size


def _split_variable(data: bytes, at: int, count: int) -> Iterator[bytes | None]:
    for _ in range(count):
        (size,) = _INT.unpack_from(data, at)
        at += 4
        yield None if size == -1 else _slice(data, at, size)
        at += max(size, 0)


def _slice(data: bytes, at: int, size: int) -> bytes:
    if not 0 <= size <= len(data) - at:
        raise struct.error
    return data[at : at + size]
