"""JSON values to SQL values, with the conversions ksqlDB makes. Counterpart: ``json_codec``."""

from __future__ import annotations

import json
import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import orjson

from penstock.sql import java
from penstock.sql.formats.columns import parts
from penstock.sql.formats.text_numbers import (
    fitter,
    read_decimal,
    read_double,
    read_int,
    read_long,
    time_of_day,
)
from penstock.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

#: Takes a JSON value that is not null.
Read = Callable[[Any], Any]

# orjson gives floats for fractions. Up to 15 digits a float's text is the one that was read.
_MANY_DIGITS = re.compile(rb"[0-9][0-9.]{15}")
_EXACT_FLOATS = 2**53


class UnfitError(ValueError):
    """A value that its column cannot take; ``path`` is where in the record."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{reason}, path: ${path}")
        self.reason = reason
        self.path = path


class Inexact(Exception):  # noqa: N818 - a signal, never shown
    """The digits of a number matter, and a float has lost them: parse again, exactly."""


def parse(data: bytes) -> Any:
    """Parses JSON quickly; fractions are floats."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None


def parse_exactly(data: bytes) -> Any:
    """Parses JSON with fractions as ``Decimal`` and whole numbers of any size."""
    try:
        return json.loads(data, parse_float=Decimal, parse_constant=_no_constant)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"not JSON: {name}")


def needs_all_digits(types: Sequence[SqlType]) -> Callable[[bytes], bool]:
    """Gives the test of a record's text for numbers that a float would not hold exactly."""
    if any(isinstance(part, DecimalType) for type_ in types for part in parts(type_)):
        return lambda data: _MANY_DIGITS.search(data) is not None
    return lambda data: False


def reader(type_: SqlType) -> Read:
    """Gives the function from a JSON value to a value of the type.

    It raises UnfitError for what does not convert, and Inexact when the text has to be read again.
    """
    match type_:
        case DecimalType(precision, scale):
            return _decimal_reader(precision, scale)
        case ArrayType(element):
            return _array_reader(element)
        case MapType(_, value):
            return _map_reader(value)
        case StructType(fields):
            return _struct_reader(fields)
        case _:
            return _READERS[type_]


def fields_reader(fields: Sequence[Field]) -> Callable[[dict[str, Any]], list[Any]]:
    """Gives the function from a JSON object to the values of some fields.

    A field is found by its name, or by a name that is its name in upper case; else it is NULL.
    """
    plan = [(field.name, _PLAIN.get(field.type), reader(field.type)) for field in fields]

    def read(members: dict[str, Any]) -> list[Any]:
        values: list[Any] = []
        upper: dict[str, Any] | None = None
        for name, plain, convert in plan:
            value = members.get(name)
            if value is None and name not in members:
                if upper is None:
                    upper = {key.upper(): member for key, member in members.items()}
                value = upper.get(name)
            if value is None or type(value) is plain:
                values.append(value)
            else:
                try:
                    values.append(convert(value))
                except ValueError as error:
                    raise below(error, f".{name}") from None
        return values

    return read


def below(error: ValueError, path: str) -> UnfitError:
    """Gives the error with the step that leads to its value in front."""
    if isinstance(error, UnfitError):
        return UnfitError(error.reason, path + error.path)
    return UnfitError(str(error), path)


def _array_reader(element: SqlType) -> Read:
    plain, convert = {_PLAIN.get(element), type(None)}, reader(element)

    def read(values: Any) -> list[Any]:
        if type(values) is not list:
            raise _no_conversion(values, "ARRAY")
        if plain.issuperset(map(type, values)):
            return values
        try:
            return [None if value is None else convert(value) for value in values]
        except ValueError:
            for place, value in enumerate(values):
                _read_at(convert, value, f"[{place}]")
            raise

    return read


def _map_reader(value_type: SqlType) -> Read:
    plain, convert = {_PLAIN.get(value_type), type(None)}, reader(value_type)

    def read(members: Any) -> dict[str, Any]:
        if type(members) is not dict:
            raise _no_conversion(members, "MAP")
        if plain.issuperset(map(type, members.values())):
            return members
        try:
            return {k: None if v is None else convert(v) for k, v in members.items()}
        except ValueError:
            for key, value in members.items():
                _read_at(convert, value, f".{key}.value")
            raise

    return read


def _read_at(convert: Read, value: Any, path: str) -> None:
    try:
        if value is not None:
            convert(value)
    except ValueError as error:
        raise below(error, path) from None


def _struct_reader(fields: Sequence[Field]) -> Read:
    names, values = [field.name for field in fields], fields_reader(fields)

    def read(members: Any) -> dict[str, Any]:
        if type(members) is not dict:
            raise _no_conversion(members, "STRUCT")
        return dict(zip(names, values(members), strict=True))

    return read


def _decimal_reader(precision: int, scale: int) -> Read:
    fit = fitter(precision, scale)

    def read(value: Any) -> Decimal:
        kind = type(value)
        if kind is float:
            # The caller has made sure that the text had no more digits than this.
            return fit(Decimal(repr(value)))
        if kind is int:
            return fit(Decimal(value))
        if kind is Decimal:
            return fit(value)
        if kind is str:
            return fit(read_decimal(value))
        raise _no_conversion(value, f"DECIMAL({precision}, {scale})")

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
    raise _no_conversion(value, name)


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
    raise _no_conversion(value, "DOUBLE")


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise _no_conversion(value, "BOOLEAN")


def _bytes(value: Any) -> bytes:
    if type(value) is not str:
        raise _no_conversion(value, "BYTES")
    try:
        return a2b_base64(value, strict_mode=True)
    except (Base64Error, ValueError):
        raise UnfitError(f"{value[:40]!r} is not base64") from None


def _text(value: Any) -> str:
    """Writes any JSON value as text: objects as JSON, arrays as ``[a, b]``."""
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


def _no_conversion(value: Any, wanted: str) -> UnfitError:
    return UnfitError(f"{_JSON_KINDS.get(type(value), 'a number')} is no {wanted}")


_READERS: dict[SqlType, Read] = {
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
# Values of these types are in Python what they are in JSON, once their class is right.
_PLAIN: dict[SqlType, type] = {BOOLEAN: bool, DOUBLE: float, STRING: str}
