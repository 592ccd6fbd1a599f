"""Whole columns through serdes: the same bytes and values as one by one, in fewer calls.

A fast way that meets something it does not know gives way to the serde itself, item by item. An
item that the serde refuses raises what the serde raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import orjson

from penstock.serde.base import Serde
from penstock.serde.json import JsonSerde, has_long_number
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

#: Serdes that depend on their input alone and do nothing else; of others nobody knows.
KNOWN_SERDES: tuple[type, ...] = (
    BooleanSerde, BytesSerde, DoubleSerde, FloatSerde, IntegerSerde, JsonSerde, LongSerde,
    ShortSerde, StringSerde, UUIDSerde,
)  # fmt: skip

#: Never refuse anything, so that what nobody looks at need not be decoded.
_TAKE_ALL = (StringSerde, BytesSerde)


def decode_all(serde: Serde[Any], data: Encoded) -> list[Any]:
    """The value of each item; None stays None."""
    fast = _FAST_DECODERS.get(type(serde))
    if fast is not None:
        try:
            found = fast(data)
        except (TypeError, ValueError):
            found = None
        if found is not None:
            return found
    decode = serde.decode
    return [None if item is None else decode(item) for item in data]


def encode_all(serde: Serde[Any], values: Sequence[Any]) -> list[bytes | None]:
    """The bytes of each value; None stays None."""
    fast = _FAST_ENCODERS.get(type(serde))
    if fast is not None:
        try:
            found = fast(values)
        except (TypeError, ValueError, OverflowError):
            found = None
        if found is not None:
            return found
    encode = serde.encode
    return [None if value is None else encode(value) for value in values]


def takes_all(serde: Serde[Any]) -> bool:
    """Whether there are no bytes that the serde refuses."""
    return isinstance(serde, _TAKE_ALL)


def keeps_bytes(serde: Serde[Any], data: Encoded) -> bool:
    """Whether decoding and encoding again gives the same bytes for all of these."""
    if isinstance(serde, BytesSerde):
        return True
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
    values = [*map(orjson.loads, data)]  # type: ignore[arg-type]
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
    data = [*map(orjson.dumps, values)]
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


_FAST_DECODERS: dict[type, Callable[[Encoded], list[Any] | None]] = {
    StringSerde: _decode_strings, JsonSerde: _decode_json, LongSerde: _decode_longs,
    DoubleSerde: _decode_doubles, BytesSerde: list,
}  # fmt: skip
_FAST_ENCODERS: dict[type, Callable[[Sequence[Any]], list[bytes | None] | None]] = {
    StringSerde: _encode_strings, JsonSerde: _encode_json, LongSerde: _encode_longs,
    DoubleSerde: _encode_doubles,
}  # fmt: skip
