"""From JSON text to values, and from JSON values to scalars of SQL. Objects: ``json_read``."""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from binascii import a2b_base64
from codecs import BOM_UTF8
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import orjson

from penstock.formats.text_numbers import (
    fitter,
    read_decimal,
    read_double,
    read_int,
    read_long,
    time_of_day,
)
from penstock.model import java
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    SqlType,
)

#: From a JSON value that is not null to a SQL value.
Read = Callable[[Any], Any]

_EXACT_FLOATS = 2**53


class UnfitError(ValueError):
    """A value does not fit its column. ``path`` is its place in the record."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{reason}, path: ${path}")
        self.reason = reason
        self.path = path


class Inexact(Exception):  # noqa: N818 - a signal, never shown
    """A float has lost digits that matter: the text must be parsed again, exactly."""


def parse(data: bytes) -> Any:
    """Parse JSON quickly; fractions are floats."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None


def parse_exactly(data: bytes) -> Any:
    """Parse JSON with fractions as ``Decimal`` and whole numbers of any size."""
    try:
        return json.loads(data, parse_float=Decimal, parse_constant=_no_constant)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        return parse_exactly(first_document(data, error))


def first_document(data: bytes, error: Exception) -> bytes:
    """Return the JSON document within bytes that are more than one.

    As in ksqlDB, what follows the first document is ignored, and so are a byte order mark and the
    zero byte with a schema id that JSON_SR writes before a document.

    Raises:
        ValueError: if there is no document, or nothing besides it. Then ``error`` says why.
    """
    begin = 5 if data[:1] == b"\0" else 0
    begin += len(BOM_UTF8) if data.startswith(BOM_UTF8, begin) else 0
    try:
        text = data[begin:].decode()
        start = text.lstrip(" \t\r\n")
        _, end = _DECODER.raw_decode(start)
    except (ValueError, RecursionError):
        raise ValueError(f"not JSON: {error}") from None
    document = start[:end].encode()
    # A bracket or quote ends a document wherever it stands; a number or word ends with a blank.
    is_ended = start[end - 1] in '}]"' or not start[end : end + 1].strip()
    if not is_ended or len(document) == len(data):
        raise ValueError(f"not JSON: {error}")
    return document


def _no_constant(name: str) -> Any:
    raise ValueError(f"not JSON: {name}")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def decimal_reader(precision: int, scale: int) -> Read:
    """Return the reader of decimals, which must fit without rounding."""
    fit = fitter(precision, scale)

    def read(value: Any) -> Decimal:
        kind = type(value)
        if kind is float:
            # The caller has checked that the text has no more digits than this.
            return fit(Decimal(repr(value)))
        if kind is int:
            return fit(Decimal(value))
        if kind is Decimal:
            return fit(value)
        if kind is str:
            return fit(read_decimal(value))
        raise no_conversion(value, f"DECIMAL({precision}, {scale})")

    return read


def _whole(value: Any, of_text: Callable[[str], int], name: str) -> int:
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is float:
        if abs(value) >= _EXACT_FLOATS:
            raise Inexact
        return int(value)
    if kind is Decimal:
        return int(value)
    if kind is str:
        return of_text(value)
    raise no_conversion(value, name)


def _integer(value: Any) -> int:
    return java.wrap_int(_whole(value, read_int, "INTEGER"))


def _bigint(value: Any) -> int:
    return java.wrap_long(_whole(value, read_long, "BIGINT"))


def _date(value: Any) -> int:
    return java.wrap_int(_whole(value, read_long, "DATE"))


def _time(value: Any) -> int:
    return time_of_day(_whole(value, read_long, "TIME"))


def _timestamp(value: Any) -> int:
    return java.wrap_long(_whole(value, read_long, "TIMESTAMP"))


def _double(value: Any) -> float:
    kind = type(value)
    if kind is float or kind is int or kind is Decimal:
        return float(value)
    if kind is str:
        return read_double(value)
    raise no_conversion(value, "DOUBLE")


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise no_conversion(value, "BOOLEAN")


def _bytes(value: Any) -> bytes:
    if type(value) is not str:
        raise no_conversion(value, "BYTES")
    try:
        return a2b_base64(value, strict_mode=True)
    except (Base64Error, ValueError):
        raise UnfitError(f"{value[:40]!r} is not base64") from None


def _text(value: Any) -> str:
    """Write any JSON value as text: objects as JSON, arrays as ``[a, b]``."""
    if type(value) is str:
        return value
    if type(value) is list:
        return f"[{', '.join('null' if item is None else _text(item) for item in value)}]"
    return _json_text(value)


def _json_text(value: Any) -> str:
    match value:
        case float():
            raise Inexact
        case bool() | None | str():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            inner = (f"{_json_text(key)}:{_json_text(item)}" for key, item in value.items())
            return f"{{{','.join(inner)}}}"
        case list():
            return f"[{','.join(_json_text(item) for item in value)}]"
        case _:
            return str(value)


_JSON_KINDS = {bool: "a boolean", str: "text", list: "an array", dict: "an object"}


def no_conversion(value: Any, wanted: str) -> UnfitError:
    return UnfitError(f"{_JSON_KINDS.get(type(value), 'a number')} cannot be read as {wanted}")


SCALARS: dict[SqlType, Read] = {
    BOOLEAN: _boolean,
    INTEGER: _integer,
    BIGINT: _bigint,
    DOUBLE: _double,
    STRING: _text,
    BYTES: _bytes,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _timestamp,
}
