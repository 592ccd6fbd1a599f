"""Whole columns through serdes: the same bytes and values as item by item, in fewer calls.

A fast function that meets an item it does not know leaves the column to the serde itself, item by
item. If the serde refuses an item, that is a ``UserCodeError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.model.user_code import UserCodeError, user_code
from penstock.serde.base import Serde
from penstock.serde.column_serde import ColumnSerde, Encoded, HasColumnSerde
from penstock.serde.inferred import TextOrJsonSerde
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

_NOTHING_MORE = ColumnSerde()
#: What a fast function raises if it does not know an item for certain.
_NOT_KNOWN = (TypeError, ValueError, LookupError, OverflowError, UserCodeError)


def column_serde_of(serde: Serde[Any]) -> ColumnSerde | None:
    """Return what is known of a serde; ``None`` if its task has to run record at a time.

    A user's subclass of a serde from the table is not in the table: it may do anything.
    """
    if isinstance(serde, HasColumnSerde):
        return serde.column_serde
    return _TABLE.get(type(serde))


def known(serde: Serde[Any]) -> ColumnSerde:
    """Return what is known of a serde; of some serdes nothing, which is a ``ColumnSerde()``."""
    return column_serde_of(serde) or _NOTHING_MORE


def decode_all(serde: Serde[Any], data: Encoded) -> Sequence[Any]:
    """Return the value of each item; ``None`` stays ``None``."""
    decode_column = known(serde).decode
    if decode_column is not None:
        try:
            found = decode_column(data)
        except _NOT_KNOWN:
            found = None
        if found is not None:
            return found
    decode, items = serde.decode, [*data]
    with user_code(f"serde {type(serde).__name__}"):
        return [None if item is None else decode(item) for item in items]


def encode_all(serde: Serde[Any], values: Sequence[Any]) -> Encoded:
    """Return the bytes of each value; ``None`` stays ``None``."""
    encode_column = known(serde).encode
    if encode_column is not None:
        try:
            found = encode_column(values)
        except _NOT_KNOWN:
            found = None
        if found is not None:
            return found
    # If the values are columns that were not made yet, an error in making them is not the serde's.
    encode, items = serde.encode, [*values]
    with user_code(f"serde {type(serde).__name__}"):
        return [None if item is None else encode(item) for item in items]


def same_bytes(one: Serde[Any], other: Serde[Any] | None) -> bool:
    """Tell whether two serdes write the same value as the same bytes."""
    if one == other:
        return True
    wire = known(one).wire
    return wire is not None and other is not None and wire == known(other).wire


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
    # orjson writes NaN as null, too. Its text does not say which of both a null was.
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
    # Java writes every NaN with the same bits. That is left to the serde.
    return None if np.isnan(numbers).any() else numbers.view("V8").tolist()


def _is_text(data: Encoded) -> bool:
    """Tell whether all items are UTF-8."""
    # A line feed stands for itself in UTF-8. Between two items, it keeps the last byte of one from
    # completing the first byte of the next.
    joined = b"\n".join([item for item in data if item is not None])
    if joined.isascii():
        return True
    try:
        joined.decode()
    except UnicodeDecodeError:
        return False
    return True


#: Serdes of this package that depend on their input alone, by their exact type.
_TABLE: dict[type, ColumnSerde] = {
    BooleanSerde: _NOTHING_MORE,
    BytesSerde: ColumnSerde(
        decode=list, takes_all=True, tells_apart=True, keeps_bytes=lambda data: True
    ),
    DoubleSerde: ColumnSerde(decode=_decode_doubles, encode=_encode_doubles),
    FloatSerde: _NOTHING_MORE,
    IntegerSerde: _NOTHING_MORE,
    JsonSerde: ColumnSerde(decode=_decode_json, encode=_encode_json),
    LongSerde: ColumnSerde(decode=_decode_longs, encode=_encode_longs),
    ShortSerde: _NOTHING_MORE,
    StringSerde: ColumnSerde(
        decode=_decode_strings, encode=_encode_strings,
        takes_all=True, tells_apart=True, keeps_bytes=_is_text, wire="text",
    ),
    TextOrJsonSerde: ColumnSerde(encode=_encode_strings, wire="text"),
    UUIDSerde: _NOTHING_MORE,
}  # fmt: skip
