"""The types that records of a registered schema have, and how their values become SQL values.

Values on the wire are plain Python: whole numbers for dates and times, too, ``Decimal``, bytes,
lists, dicts for maps and for structs (by field name). Kafka Connect's types, which ksqlDB reads
every schema through, are the model.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Any, assert_never

from penstock.formats.text_numbers import fitter
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
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

Row = tuple[Any, ...]
Convert = Callable[[Any], Any]

#: The precision that ksqlDB assumes for a decimal if the schema does not name one.
DEFAULT_PRECISION = 64


class WireScalar(Enum):
    """A type without parts."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class WireDecimal:
    """A decimal with a fixed number of digits behind the point."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class WireArray:
    """A list of values of one type."""

    element: Wire


@dataclass(frozen=True, slots=True)
class WireMap:
    """A map; its keys need not be text."""

    key: Wire
    value: Wire


@dataclass(frozen=True, slots=True)
class WireField:
    """A field of a struct, under the name it has in the schema."""

    name: str
    type: Wire


@dataclass(frozen=True, slots=True)
class WireStruct:
    """A record or message."""

    fields: tuple[WireField, ...]


Wire = WireScalar | WireDecimal | WireArray | WireMap | WireStruct

_SQL_TYPES: dict[WireScalar, SqlType] = {
    WireScalar.BOOLEAN: BOOLEAN,
    WireScalar.INT: INTEGER,
    WireScalar.LONG: BIGINT,
    WireScalar.FLOAT: DOUBLE,
    WireScalar.DOUBLE: DOUBLE,
    WireScalar.STRING: STRING,
    WireScalar.BYTES: BYTES,
    WireScalar.DATE: DATE,
    WireScalar.TIME: TIME,
    WireScalar.TIMESTAMP: TIMESTAMP,
}


def sql_type(wire: Wire, *, keep_case: bool) -> SqlType:
    """Return the SQL type of a wire type; names become upper case unless they keep theirs."""
    match wire:
        case WireScalar():
            return _SQL_TYPES[wire]
        case WireDecimal(precision, scale):
            return DecimalType(precision, scale)
        case WireArray(element):
            return ArrayType(sql_type(element, keep_case=keep_case))
        case WireMap(_, value):
            # Keys of any kind are read as text.
            return MapType(STRING, sql_type(value, keep_case=keep_case))
        case WireStruct():
            return StructType(sql_fields(wire, keep_case=keep_case))
        case _:
            assert_never(wire)


def sql_fields(wire: WireStruct, *, keep_case: bool) -> tuple[Field, ...]:
    return tuple(
        Field(f.name if keep_case else f.name.upper(), sql_type(f.type, keep_case=keep_case))
        for f in wire.fields
    )


_INTS = (WireScalar.INT, WireScalar.DATE, WireScalar.TIME)
_LONGS = (*_INTS, WireScalar.LONG, WireScalar.TIMESTAMP)
# Which wire types a scalar column reads.
_ACCEPTED: dict[SqlType, tuple[WireScalar, ...]] = {
    BOOLEAN: (WireScalar.BOOLEAN,),
    INTEGER: _INTS,
    DATE: _INTS,
    TIME: _INTS,
    BIGINT: _LONGS,
    TIMESTAMP: _LONGS,
    DOUBLE: (WireScalar.FLOAT, WireScalar.DOUBLE),
    STRING: tuple(kind for kind in WireScalar if kind is not WireScalar.BYTES),
    BYTES: (WireScalar.BYTES,),
}


def _float_text(value: float) -> str:
    """Write a number that had 32 bits with the fewest digits that tell it apart."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack(">f", float(text)) == struct.pack(">f", value):
            return java.double_text(float(text))
    return java.double_text(value)


_TEXTS: dict[WireScalar, Convert] = {
    WireScalar.BOOLEAN: lambda value: "true" if value else "false",
    WireScalar.FLOAT: _float_text,
    WireScalar.DOUBLE: java.double_text,
}


def converter(wire: Wire, type_: SqlType, path: str = "") -> Convert | None:
    """Return the function from a wire value, not None, to a value of the SQL type.

    None means that the value is right as it is.

    Raises:
        ValueError: when such values cannot be read as the type, with the path of the field.
    """
    match wire, type_:
        case WireScalar(), _ if type_ in _ACCEPTED and wire in _ACCEPTED[type_]:
            if type_ == STRING and wire is not WireScalar.STRING:
                return _TEXTS.get(wire, str)
            return None
        case WireDecimal(), DecimalType(precision, scale):
            return fitter(precision, scale)
        case WireArray(element), ArrayType(wanted):
            return _array(converter(element, wanted, f"{path}->ARRAY"))
        case WireMap(key, value), MapType(wanted_key, wanted):
            return _map(
                converter(key, wanted_key, f"{path}->MAP_KEY"),
                converter(value, wanted, f"{path}->MAP_VAL"),
            )
        case WireStruct(), StructType(fields):
            return _struct(wire, fields, path)
        case _:
            raise ValueError(f"a {_name(wire)} cannot be read as {type_}, path: {path or '->'}")


def row_converter(wire: Wire, columns: Sequence[Field], *, is_unwrapped: bool) -> Convert:
    """Return the function from a record's value to the row of some columns."""
    if is_unwrapped:
        single = converter(wire, columns[0].type) or _same
        return lambda value: (None if value is None else single(value),)
    if not isinstance(wire, WireStruct):
        raise ValueError(f"a {_name(wire)} cannot be read as a row of columns")
    values = _field_values(wire, columns, "")

    def row(value: Any) -> Row:
        if value is None:
            raise ValueError("the record is null, not a row of columns")
        return tuple(values(value))

    return row


def _struct(wire: WireStruct, fields: Sequence[Field], path: str) -> Convert:
    names, values = [field.name for field in fields], _field_values(wire, fields, path)
    return lambda value: dict(zip(names, values(value), strict=True))


def _field_values(
    wire: WireStruct, fields: Sequence[Field], path: str
) -> Callable[[dict[str, Any]], Sequence[Any]]:
    """Return the function from a struct to the values of the fields, NULL for those it lacks.

    A schema's field is the one of the same name, or else of the name in upper case.
    """
    wanted = {field.name for field in fields}
    sources: dict[str, WireField] = {}
    for field in wire.fields:
        name = field.name if field.name in wanted else field.name.upper()
        if name in wanted:
            sources[name] = field
    plan: list[tuple[str | None, Convert | None]] = []
    for wanted_field in fields:
        source = sources.get(wanted_field.name)
        if source is None:
            plan.append((None, None))
        else:
            step = f"{path}->{wanted_field.name}"
            plan.append((source.name, converter(source.type, wanted_field.type, step)))
    if len(plan) > 1 and all(name and not convert for name, convert in plan):
        return itemgetter(*[name for name, _ in plan])

    def values(value: dict[str, Any]) -> list[Any]:
        found: list[Any] = []
        for name, convert in plan:
            item = None if name is None else value[name]
            found.append(item if item is None or convert is None else convert(item))
        return found

    return values


def _array(element: Convert | None) -> Convert | None:
    if element is None:
        return None
    return lambda values: [None if value is None else element(value) for value in values]


def _map(key: Convert | None, value: Convert | None) -> Convert | None:
    if key is None and value is None:
        return None
    of_key, of_value = key or _same, value or _same
    return lambda items: {
        None if k is None else of_key(k): None if v is None else of_value(v)
        for k, v in items.items()
    }


def _same(value: Any) -> Any:
    return value


def _name(wire: Wire) -> str:
    if isinstance(wire, WireScalar):
        return wire.value
    return type(wire).__name__.removeprefix("Wire").lower()
