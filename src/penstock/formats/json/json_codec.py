"""Format JSON: a row is an object, or the value of its only column."""

from __future__ import annotations

import math
from binascii import b2a_base64
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from orjson import JSONDecodeError

from penstock.formats.columns import parts
from penstock.formats.json.json_read import fields_reader, parser, reader
from penstock.formats.json.json_values import Inexact, UnfitError, first_document, parse_exactly
from penstock.model.sql.types import (
    BYTES,
    DOUBLE,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

Row = tuple[Any, ...]
Encode = Callable[[Row], bytes | None]
Decode = Callable[[bytes], Row]
Write = Callable[[Any], Any]

_dumps = orjson.dumps


def json_codec(columns: Sequence[Field], *, is_unwrapped: bool) -> tuple[Encode, Decode]:
    """Return the functions of rows with these columns."""
    if is_unwrapped:
        return _single_encoder(columns[0].type), _single_decoder(columns[0].type)
    return object_encoder(columns), object_decoder(columns)


def object_decoder(columns: Sequence[Field]) -> Decode:
    values = fields_reader(columns)
    load = parser([column.type for column in columns])

    def decode(data: bytes) -> Row:
        try:
            members = load(data)
            if type(members) is dict:
                return tuple(values(members))
        except Inexact:
            return tuple(values(parse_exactly(data)))
        except JSONDecodeError as error:
            return decode(first_document(data, error))
        raise UnfitError("the record is not an object")

    return decode


def _single_decoder(type_: SqlType) -> Decode:
    convert, load = reader(type_), parser([type_])

    def decode(data: bytes) -> Row:
        try:
            value = load(data)
            return (None if value is None else convert(value),)
        except Inexact:
            return (convert(parse_exactly(data)),)
        except JSONDecodeError as error:
            return decode(first_document(data, error))

    return decode


def object_encoder(columns: Sequence[Field]) -> Callable[[Row], bytes]:
    names = [column.name for column in columns]
    option = json_option([column.type for column in columns])
    write, carefully = _row_writer(columns, finite=True), _row_writer(columns, finite=False)

    def encode(row: Row) -> bytes:
        members = dict(zip(names, row if write is None else write(row), strict=True))
        # A copy, because orjson's text keeps its buffer of four kilobytes.
        return b"%b" % _dumps(members, option=option)

    if carefully is None or not _has(DOUBLE, columns):
        return encode

    def encode_doubles(row: Row) -> bytes:
        data = encode(row)
        if b"null" not in data:
            return data
        # orjson writes NaN as null; Java writes it as text.
        return _dumps(dict(zip(names, carefully(row), strict=True)), option=option)

    return encode_doubles


def json_option(types: Sequence[SqlType]) -> int | None:
    """Return the option that lets a map have NULL as a key, written as ``null`` as in Java.

    It costs time, so only types with maps get it.
    """
    has_map = any(isinstance(part, MapType) for type_ in types for part in parts(type_))
    return orjson.OPT_NON_STR_KEYS if has_map else None


def _row_writer(columns: Sequence[Field], *, finite: bool) -> Callable[[Row], Sequence[Any]] | None:
    writers = [writer(column.type, finite=finite) for column in columns]
    if not any(writers):
        return None
    full = [each or _same for each in writers]

    def write(row: Row) -> Sequence[Any]:
        return [
            None if value is None else convert(value)
            for convert, value in zip(full, row, strict=True)
        ]

    return write


def _single_encoder(type_: SqlType) -> Encode:
    write, option = writer(type_, finite=False) or _same, json_option([type_])

    def encode(row: Row) -> bytes | None:
        (value,) = row
        return None if value is None else _dumps(write(value), option=option)

    return encode


def writer(type_: SqlType, *, finite: bool) -> Write | None:
    """Return the function that prepares a value for orjson; None if nothing needs to be done.

    ``finite`` promises that doubles are neither NaN nor infinite.
    """
    if isinstance(type_, DecimalType):
        return lambda value: orjson.Fragment(str(value))
    if type_ == BYTES:
        return lambda value: b2a_base64(value, newline=False).decode()
    if type_ == DOUBLE:
        return None if finite else _double
    match type_:
        case ArrayType(element):
            each = writer(element, finite=finite)
            return each and _array_writer(each)
        case MapType(_, value):
            each = writer(value, finite=finite)
            return each and _map_writer(each)
        case StructType(fields):
            return _struct_writer([(f.name, writer(f.type, finite=finite)) for f in fields])
        case _:
            return None


def _array_writer(each: Write) -> Write:
    return lambda values: [None if value is None else each(value) for value in values]


def _map_writer(each: Write) -> Write:
    return lambda items: {k: None if v is None else each(v) for k, v in items.items()}


def _struct_writer(fields: Sequence[tuple[str, Write | None]]) -> Write:
    """Write all fields in the order of the type: equal keys have to have equal bytes."""
    plan = [(name, write or _same) for name, write in fields]

    def write(struct: dict[str, Any]) -> dict[str, Any]:
        return {
            name: None if struct.get(name) is None else convert(struct[name])
            for name, convert in plan
        }

    return write


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _same(value: Any) -> Any:
    return value


def _has(wanted: SqlType, columns: Sequence[Field]) -> bool:
    return any(part == wanted for column in columns for part in parts(column.type))
