"""Whole columns through serdes: the same bytes and values as one by one, in fewer calls.

A fast way that meets something it does not know gives way to the serde itself, item by item. An
item that the serde refuses is a ``UserCodeError``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import numpy as np

from penstock.model.user_code import UserCodeError, user_code
from penstock.serde.base import Serde
from penstock.serde.json import JsonSerde, has_long_number
from penstock.serde.json_column import dumped, loaded
from penstock.serde.primitives import (
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
    UUIDSerde,
)

Encoded = Sequence[bytes | None]


class ColumnSerde(Protocol):
    """What a serde may offer to whoever has whole columns; all of it equals item by item.

    Two serdes of the same ``wire`` write the same values with the same bytes. ``takes_all`` says
    that there are no bytes that the serde refuses, ``tells_apart`` that different values have
    different bytes.
    """

    @property
    def wire(self) -> object: ...
    @property
    def takes_all(self) -> bool: ...
    @property
    def tells_apart(self) -> bool: ...
    def keeps_bytes(self, data: Encoded) -> bool:
        """Whether decoding and encoding again gives the same bytes for all of these."""

    def decode_column(self, data: Encoded) -> Sequence[Any] | None:
        """The value of each item; None, or an error, if that is better found out one by one."""

    def encode_column(self, values: Sequence[Any]) -> Encoded | None:
        """The bytes of each value; None, or an error, if that is better found out one by one."""


def has_columns(serde: Serde[Any]) -> bool:
    """Whether a serde takes whole columns; asking for its protocol takes too long for that."""
    return hasattr(serde, "keeps_bytes")


#: Serdes that depend on their input alone and do nothing else; of others nobody knows.
KNOWN_SERDES: tuple[type, ...] = (
    BooleanSerde, BytesSerde, DoubleSerde, FloatSerde, IntegerSerde, JsonSerde, LongSerde,
    ShortSerde, StringSerde, UUIDSerde,
)  # fmt: skip

#: Never refuse anything, so that what nobody looks at need not be decoded.
_TAKE_ALL = (StringSerde, BytesSerde)


def decode_all(serde: Serde[Any], data: Encoded) -> Sequence[Any]:
    """The value of each item; None stays None."""
    fast: Decoder | None = getattr(serde, "decode_column", None) or _FAST_DECODERS.get(type(serde))
    if fast is not None:
        try:
            found = fast(data)
        except (TypeError, ValueError, LookupError, UserCodeError):
            found = None
        if found is not None:
            return found
    decode = serde.decode
    with user_code(f"serde {type(serde).__name__}"):
        return [None if item is None else decode(item) for item in data]


def encode_all(serde: Serde[Any], values: Sequence[Any]) -> Encoded:
    """The bytes of each value; None stays None."""
    fast: Encoder | None = getattr(serde, "encode_column", None) or _FAST_ENCODERS.get(type(serde))
    if fast is not None:
        try:
            found = fast(values)
        except (TypeError, ValueError, OverflowError, UserCodeError):
            found = None
        if found is not None:
            return found
    encode = serde.encode
    with user_code(f"serde {type(serde).__name__}"):
        return [None if value is None else encode(value) for value in values]


def takes_all(serde: Serde[Any]) -> bool:
    """Whether there are no bytes that the serde refuses."""
    return isinstance(serde, _TAKE_ALL) or getattr(serde, "takes_all", False) is True


def tells_apart(serde: Serde[Any]) -> bool:
    """Whether different values are certain to have different bytes."""
    return isinstance(serde, _TAKE_ALL) or getattr(serde, "tells_apart", False) is True


def same_bytes(one: Serde[Any], other: Serde[Any] | None) -> bool:
    """Whether two serdes write the same value with the same bytes."""
    if one == other:
        return True
    wire = getattr(one, "wire", None)
    return wire is not None and wire == getattr(other, "wire", None)


def keeps_bytes(serde: Serde[Any], data: Encoded) -> bool:
    """Whether decoding and encoding again gives the same bytes for all of these."""
    if isinstance(serde, BytesSerde):
        return True
    if has_columns(serde):
        return cast("ColumnSerde", serde).keeps_bytes(data)
    if not isinstance(serde, StringSerde):
        return False
    # A byte that stands for itself between the items keeps the end of one from completing
    # the beginning of another.
    joined = b"\n".join([item for item in data if item is not None])
    if joined.isascii():
        return True
    try:
        joined.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_strings(data: Encoded) -> list[Any]:
    return [*map(bytes.decode, data)]  # type: ignore[arg-type]


def _decode_json(data: Encoded) -> list[Any] | None:
    values = loaded(data)  # type: ignore[arg-type]
    return None if has_long_number(b",".join(data)) else values  # type: ignore[arg-type]


def _decode_longs(data: Encoded) -> list[Any] | None:
    if set(map(len, data)) != {8}:  # type: ignore[arg-type]
        return None
    return np.frombuffer(b"".join(data), ">i8").tolist()  # type: ignore[arg-type, no-any-return]


def _decode_doubles(data: Encoded) -> list[Any] | None:
    if set(map(len, data)) != {8}:  # type: ignore[arg-type]
        return None
    return np.frombuffer(b"".join(data), ">f8").tolist()  # type: ignore[arg-type, no-any-return]


def _encode_strings(values: Sequence[Any]) -> list[bytes | None]:
    return [*map(str.encode, values)]


def _encode_json(values: Sequence[Any]) -> list[bytes | None] | None:
    # Of orjson's own null and of one that stands for NaN nobody can tell which it is.
    data = dumped(values)
    return None if b"".join(data).count(b"null") else data  # type: ignore[return-value]


def _encode_longs(values: Sequence[Any]) -> list[bytes | None] | None:
    if set(map(type, values)) != {int}:
        return None
    return np.array(values, ">i8").view("V8").tolist()  # type: ignore[no-any-return]


def _encode_doubles(values: Sequence[Any]) -> list[bytes | None] | None:
    if set(map(type, values)) != {float}:
        return None
    numbers = np.array(values, ">f8")
    # Java writes every NaN with the same bits, which is left to the serde.
    return None if np.isnan(numbers).any() else numbers.view("V8").tolist()


Decoder = Callable[[Encoded], Sequence[Any] | None]
Encoder = Callable[[Sequence[Any]], Encoded | None]

_FAST_DECODERS: dict[type, Decoder] = {
    StringSerde: _decode_strings, JsonSerde: _decode_json, LongSerde: _decode_longs,
    DoubleSerde: _decode_doubles, BytesSerde: list,
}  # fmt: skip
_FAST_ENCODERS: dict[type, Encoder] = {
    StringSerde: _encode_strings, JsonSerde: _encode_json, LongSerde: _encode_longs,
    DoubleSerde: _encode_doubles,
}  # fmt: skip
