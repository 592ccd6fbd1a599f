"""Kafka's primitive formats, byte for byte. Factories: ``penstock.serde.serdes.Serdes``."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from operator import index
from typing import SupportsFloat
from uuid import UUID

from penstock.serde.base import Serde
from penstock.serde.shape import Shape, TypeShape

# This is the hot path. A good value costs one call in C without further checks. What is wrong
# with a bad value is found out after the call has failed.
_utf8 = str.encode
_pack_short, _unpack_short = struct.Struct(">h").pack, struct.Struct(">h").unpack
_pack_integer, _unpack_integer = struct.Struct(">i").pack, struct.Struct(">i").unpack
_pack_long, _unpack_long = struct.Struct(">q").pack, struct.Struct(">q").unpack
_pack_float, _unpack_float = struct.Struct(">f").pack, struct.Struct(">f").unpack
_pack_double, _unpack_double = struct.Struct(">d").pack, struct.Struct(">d").unpack

_UUID = re.compile(r"-".join([r"([0-9a-fA-F]{1,15})"] * 5))
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


@dataclass(frozen=True, slots=True)
class StringSerde(Serde[str]):
    """Text as UTF-8. Malformed bytes become U+FFFD, as in Java, and are never an error."""

    @property
    def shape(self) -> Shape:
        return TypeShape(str)

    def encode(self, value: str) -> bytes:
        try:
            return _utf8(value)
        except TypeError:
            raise _wrong_type("string", "a str", value) from None

    def decode(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            # Java sees one malformed character in an encoded surrogate, Python sees three.
            return _SURROGATE.sub(b"\xff", data).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class LongSerde(Serde[int]):
    """Integers of 64 bits: 8 bytes, big-endian."""

    @property
    def shape(self) -> Shape:
        return TypeShape(int)

    def encode(self, value: int) -> bytes:
        try:
            return _pack_long(value if type(value) is int else _integer(value, "long"))
        except struct.error:
            raise _out_of_range(value, "long", 64) from None

    def decode(self, data: bytes) -> int:
        value: int
        try:
            (value,) = _unpack_long(data)
        except struct.error:
            raise _wrong_size("long", 8, data) from None
        return value


@dataclass(frozen=True, slots=True)
class IntegerSerde(Serde[int]):
    """Integers of 32 bits: 4 bytes, big-endian."""

    @property
    def shape(self) -> Shape:
        return TypeShape(int)

    def encode(self, value: int) -> bytes:
        try:
            return _pack_integer(value if type(value) is int else _integer(value, "integer"))
        except struct.error:
            raise _out_of_range(value, "integer", 32) from None

    def decode(self, data: bytes) -> int:
        value: int
        try:
            (value,) = _unpack_integer(data)
        except struct.error:
            raise _wrong_size("integer", 4, data) from None
        return value


@dataclass(frozen=True, slots=True)
class ShortSerde(Serde[int]):
    """Integers of 16 bits: 2 bytes, big-endian."""

    @property
    def shape(self) -> Shape:
        return TypeShape(int)

    def encode(self, value: int) -> bytes:
        try:
            return _pack_short(value if type(value) is int else _integer(value, "short"))
        except struct.error:
            raise _out_of_range(value, "short", 16) from None

    def decode(self, data: bytes) -> int:
        value: int
        try:
            (value,) = _unpack_short(data)
        except struct.error:
            raise _wrong_size("short", 2, data) from None
        return value


@dataclass(frozen=True, slots=True)
class DoubleSerde(Serde[float]):
    """IEEE 754 numbers of 64 bits: 8 bytes, big-endian. Writes ints, too, and reads floats."""

    @property
    def shape(self) -> Shape:
        return TypeShape(float)

    def encode(self, value: float) -> bytes:
        # Java writes every NaN with the same bits, so NaN takes the slow path.
        if type(value) is float and value == value:
            return _pack_double(value)
        number = _real(value, "double")
        return _pack_double(math.nan if math.isnan(number) else number)

    def decode(self, data: bytes) -> float:
        value: float
        try:
            (value,) = _unpack_double(data)
        except struct.error:
            raise _wrong_size("double", 8, data) from None
        return value


@dataclass(frozen=True, slots=True)
class FloatSerde(Serde[float]):
    """IEEE 754 numbers of 32 bits: 4 bytes, big-endian. A Python float loses precision here."""

    @property
    def shape(self) -> Shape:
        return TypeShape(float)

    def encode(self, value: float) -> bytes:
        try:
            return _pack_float(value if type(value) is float else _real(value, "float"))
        except OverflowError:
            raise ValueError(f"float serde cannot hold {value!r}: it needs a double") from None

    def decode(self, data: bytes) -> float:
        value: float
        try:
            (value,) = _unpack_float(data)
        except struct.error:
            raise _wrong_size("float", 4, data) from None
        return value


@dataclass(frozen=True, slots=True)
class BytesSerde(Serde[bytes]):
    """Bytes as they are; takes any bytes-like object."""

    @property
    def shape(self) -> Shape:
        return TypeShape(bytes)

    def encode(self, value: bytes) -> bytes:
        if type(value) is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise _wrong_type("bytes", "a bytes-like object", value)

    def decode(self, data: bytes) -> bytes:
        return data


@dataclass(frozen=True, slots=True)
class BooleanSerde(Serde[bool]):
    """One byte: 1 for true, 0 for false, nothing else."""

    @property
    def shape(self) -> Shape:
        return TypeShape(bool)

    def encode(self, value: bool) -> bytes:
        if value is True:
            return b"\x01"
        if value is False:
            return b"\x00"
        raise _wrong_type("boolean", "a bool", value)

    def decode(self, data: bytes) -> bool:
        if len(data) != 1:
            raise _wrong_size("boolean", 1, data)
        if data[0] > 1:
            raise ValueError(f"boolean serde needs byte 0 or 1, got {data[0]}")
        return data[0] == 1


@dataclass(frozen=True, slots=True)
class UUIDSerde(Serde[UUID]):
    """A UUID as its 36 characters of text, as Kafka writes it: not its 16 bytes."""

    def encode(self, value: UUID) -> bytes:
        if isinstance(value, UUID):
            return str(value).encode()
        raise _wrong_type("uuid", "a UUID", value)

    def decode(self, data: bytes) -> UUID:
        text = data.decode(errors="replace")
        parts = _UUID.fullmatch(text)
        if parts is None or len(text) > 36:
            raise ValueError(f"uuid serde needs text such as {UUID(int=1)}, got {text[:40]!r}")
        # As in Java, parts may be short, and of long parts only the last digits count.
        a, b, c, d, e = (int(part, 16) for part in parts.groups())
        high = (a & 0xFFFFFFFF) << 32 | (b & 0xFFFF) << 16 | c & 0xFFFF
        return UUID(int=high << 64 | (d & 0xFFFF) << 48 | e & 0xFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class VoidSerde(Serde[None]):
    """Nothing but None, for topics whose keys or values are unused."""

    def encode(self, value: None) -> bytes:
        raise _wrong_type("void", "only None", value)

    def decode(self, data: bytes) -> None:
        raise ValueError(f"void serde needs no bytes at all, got {len(data)}")


def _integer(value: object, serde: str) -> int:
    """Return an integer of another class, such as numpy's, as int; refuse bool."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _wrong_type(serde, "an int", value)
    return index(value)


def _real(value: object, serde: str) -> float:
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise _wrong_type(serde, "a float or an int", value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{serde} serde cannot hold {value!r}: it is too large") from None


def _wrong_type(serde: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{serde} serde takes {wanted}, got {type(value).__name__} {value!r:.80}")


def _out_of_range(value: int, serde: str, bits: int) -> ValueError:
    return ValueError(f"{serde} serde cannot hold {value}: it does not fit {bits} bits")


def _wrong_size(serde: str, size: int, data: bytes) -> ValueError:
    return ValueError(f"{serde} serde needs {size} byte{'s' * (size > 1)}, got {len(data)}")
