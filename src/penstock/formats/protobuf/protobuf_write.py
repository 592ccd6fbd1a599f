"""Writes rows as Protobuf messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf import protobuf_read as messages
from penstock.formats.protobuf.protobuf_read import (
    entry_of,
    is_map,
    is_wrapper,
    oneof_field_name,
    real_oneofs,
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
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.model.time.calendar import from_days

Convert = Callable[[Any], Any]
#: Adds the members of a value to the arguments of a message's constructor.
Fill = Callable[[dict[str, Any], Any], None]


def message_maker(message: Descriptor, fields: Sequence[Field]) -> Callable[[Sequence[Any]], Any]:
    """Return the function from the values of some fields to a message.

    Raises:
        ValueError: when the message has no place for a field.
    """
    make = GetMessageClass(message)
    fills = [_filler(message, field) for field in fields]

    def made(values: Sequence[Any]) -> Any:
        members: dict[str, Any] = {}
        for fill, value in zip(fills, values, strict=True):
            if value is not None:
                fill(members, value)
        return make(**members)

    return made


def _filler(message: Descriptor, field: Field) -> Fill:
    for oneof in real_oneofs(message):
        if oneof_field_name(oneof) == field.name and isinstance(field.type, StructType):
            return _oneof_filler(message, field.type)
    target = message.fields_by_name.get(field.name)
    if target is None:
        raise ValueError(f"message {message.full_name!r} has no field {field.name!r}")
    name, convert = target.name, _writer(target, field.type)

    def fill(members: dict[str, Any], value: Any) -> None:
        members[name] = convert(value)

    return fill


def _oneof_filler(message: Descriptor, type_: StructType) -> Fill:
    members = [(field.name, _filler(message, field)) for field in type_.fields]

    def fill(arguments: dict[str, Any], value: dict[str, Any]) -> None:
        for name, each in members:
            if value.get(name) is not None:
                each(arguments, value[name])
                return

    return fill


def _writer(target: FieldDescriptor, type_: SqlType) -> Convert:
    """Return the function from a SQL value to what the message's constructor takes."""
    match type_:
        case MapType(key, value) if is_map(target):
            return _map_writer(entry_of(target), key, value)
        case ArrayType(element) if target.is_repeated:
            return _list_writer(_single(target, element), target.name)
        case MapType() | ArrayType():
            raise _no_place(target, type_)
        case _ if target.is_repeated:
            raise _no_place(target, type_)
        case _:
            return _single(target, type_)


def _list_writer(convert: Convert, name: str) -> Convert:
    def write(values: list[Any]) -> list[Any]:
        if None in values:
            raise ValueError(f"field {name!r}: an array in Protobuf cannot hold NULL")
        return [convert(value) for value in values]

    return write


def _map_writer(entry: Descriptor, key: SqlType, value: SqlType) -> Convert:
    make = message_maker(entry, [Field("key", key), Field("value", value)])
    if not entry.GetOptions().map_entry:
        return lambda items: [make(pair) for pair in items.items()]
    of_value, missing = _single(entry.fields[1], value), _default(entry.fields[1])

    def write(items: dict[Any, Any]) -> dict[Any, Any]:
        return {k: missing() if v is None else of_value(v) for k, v in items.items()}

    return write


def _default(field: FieldDescriptor) -> Callable[[], Any]:
    if field.message_type is not None:
        return GetMessageClass(field.message_type)
    return lambda: field.default_value


# Which of Protobuf's kinds of numbers and texts a scalar column is written as.
_WRITABLE: dict[SqlType, tuple[int, ...]] = {
    BOOLEAN: (FieldDescriptor.CPPTYPE_BOOL,),
    INTEGER: (
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    ),
    BIGINT: (
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    ),
    DOUBLE: (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT),
    STRING: (FieldDescriptor.CPPTYPE_STRING,),
    BYTES: (FieldDescriptor.CPPTYPE_STRING,),
    DATE: (FieldDescriptor.CPPTYPE_INT32,),
    TIME: (FieldDescriptor.CPPTYPE_INT32,),
    TIMESTAMP: (FieldDescriptor.CPPTYPE_INT64,),
}


def _single(target: FieldDescriptor, type_: SqlType) -> Convert:
    message = target.message_type
    if message is not None:
        return _message_writer(target, message, type_)
    enum = target.enum_type
    if enum is not None and type_ == STRING:
        numbers = {name: value.number for name, value in enum.values_by_name.items()}
        return _enum_writer(numbers, enum.name)
    if target.cpp_type not in _WRITABLE.get(type_, ()):
        raise _no_place(target, type_)
    if target.type == FieldDescriptor.TYPE_BYTES and type_ != BYTES:
        raise _no_place(target, type_)
    if target.cpp_type == FieldDescriptor.CPPTYPE_UINT64:
        return lambda value: value & 0xFFFF_FFFF_FFFF_FFFF
    if target.cpp_type == FieldDescriptor.CPPTYPE_UINT32:
        return lambda value: value & 0xFFFF_FFFF
    return _same


def _message_writer(target: FieldDescriptor, message: Descriptor, type_: SqlType) -> Convert:
    if is_wrapper(message):
        of_value, make = _single(message.fields[0], type_), GetMessageClass(message)
        return lambda value: make(value=of_value(value))
    special = _SPECIAL.get(message.full_name)
    if special is not None and (isinstance(type_, DecimalType) or type_ in (DATE, TIME, TIMESTAMP)):
        return special(GetMessageClass(message), type_)
    if not isinstance(type_, StructType):
        raise _no_place(target, type_)
    names = [field.name for field in type_.fields]
    made = message_maker(message, type_.fields)
    return lambda struct: made([struct.get(name) for name in names])


def _enum_writer(numbers: dict[str, int], enum: str) -> Convert:
    def write(name: str) -> int:
        if name not in numbers:
            raise ValueError(f"{name!r} is not a value of enum {enum!r}")
        return numbers[name]

    return write


def _no_place(target: FieldDescriptor, type_: SqlType) -> ValueError:
    return ValueError(f"field {target.full_name!r} cannot hold a {type_}")


def _decimal(make: Any, type_: SqlType) -> Convert:
    assert isinstance(type_, DecimalType)
    precision, scale = type_.precision, type_.scale

    def write(value: Decimal) -> Any:
        unscaled = int(java.EXACT.scaleb(value, scale))
        size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
        data = unscaled.to_bytes(size, "big", signed=True)
        return make(value=data, precision=precision, scale=scale)

    return write


def _date(make: Any, type_: SqlType) -> Convert:
    def write(days: int) -> Any:
        day = from_days(days)
        return make(year=day.year, month=day.month, day=day.day)

    return write


def _time(make: Any, type_: SqlType) -> Convert:
    def write(ms: int) -> Any:
        seconds = ms // 1000
        return make(
            hours=seconds // 3600,
            minutes=seconds // 60 % 60,
            seconds=seconds % 60,
            nanos=ms % 1000 * 1_000_000,
        )

    return write


def _timestamp(make: Any, type_: SqlType) -> Convert:
    return lambda ms: make(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def _same(value: Any) -> Any:
    return value


_SPECIAL: dict[str, Callable[[Any, SqlType], Convert]] = {
    messages.DECIMAL: _decimal,
    messages.DATE: _date,
    messages.TIME: _time,
    messages.TIMESTAMP: _timestamp,
}
