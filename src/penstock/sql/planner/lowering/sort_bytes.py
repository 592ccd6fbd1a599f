"""Values as bytes that sort as the values do, so that a range of a store is in their order."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from penstock.model import java
from penstock.model.sql.types import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    STRING,
    DecimalType,
    SqlType,
)

_LONG = 2**63
_INVERTED = bytes(255 - byte for byte in range(256))

#: Turns a value, possibly NULL, into bytes.
Encode = Callable[[Any], bytes]


def sort_encoder(type_: SqlType, *, is_descending: bool, nulls_first: bool) -> Encode:
    """Return the function from a value of a type to bytes that sort as ORDER BY does.

    No result is the beginning of another one, so several can be put together.
    """
    encode = _encoder(type_)
    null = b"\x00" if nulls_first else b"\x02"

    def ascending(value: Any) -> bytes:
        return null if value is None else b"\x01" + encode(value)

    def descending(value: Any) -> bytes:
        return null if value is None else b"\x01" + encode(value).translate(_INVERTED)

    return descending if is_descending else ascending


def _encoder(type_: SqlType) -> Encode:
    if isinstance(type_, DecimalType):
        return _decimal(type_)
    if type_ == STRING:
        return lambda text: _ended(text.encode("utf-8", "surrogatepass"))
    if type_ == BYTES:
        return _ended
    if type_ == DOUBLE:
        return _double
    if type_ == BOOLEAN:
        return lambda value: b"\x01" if value else b"\x00"
    # Whole numbers, and dates and times, which are whole numbers here.
    return lambda number: (int(number) + _LONG).to_bytes(8, "big")


def _ended(data: bytes) -> bytes:
    """Mark the end, and every zero inside so that it is not taken for the end."""
    return data.replace(b"\x00", b"\x00\xff") + b"\x00\x00"


def _double(value: float) -> bytes:
    # -0.0 and 0.0 are equal.
    if value != value:
        # Whatever made it not a number, it is one value.
        value = math.nan
    bits = int.from_bytes(struct.pack(">d", value + 0.0), "big")
    turned = bits ^ (2**64 - 1) if bits & _LONG else bits | _LONG
    return turned.to_bytes(8, "big")


def _decimal(type_: DecimalType) -> Encode:
    largest = 10**type_.precision
    width = (2 * largest).bit_length() // 8 + 1

    def encode(value: Any) -> bytes:
        # The default context would round what has more than 28 digits.
        number: int = int(value.scaleb(type_.scale, context=java.EXACT)) + largest
        return number.to_bytes(width, "big")

    return encode
