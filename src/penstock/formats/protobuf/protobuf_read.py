"""Reads Protobuf messages as wire values, and finds their wire types."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor

from penstock.formats.protobuf.protobuf_file import ProtoFile
from penstock.formats.wire import (
    DEFAULT_PRECISION,
    Wire,
    WireArray,
    WireDecimal,
    WireField,
    WireMap,
    WireScalar,
    WireStruct,
)
from penstock.model import java
from penstock.model.time.calendar import days_of

Extract = Callable[[Any], Any]

DECIMAL = "confluent.type.Decimal"
DATE = "google.type.Date"
TIME = "google.type.TimeOfDay"
TIMESTAMP = "google.protobuf.Timestamp"
_WRAPPERS = "google.protobuf."
_KINDS: dict[int, WireScalar] = {
    FieldDescriptor.TYPE_BOOL: WireScalar.BOOLEAN,
    FieldDescriptor.TYPE_INT32: WireScalar.INT,
    FieldDescriptor.TYPE_SINT32: WireScalar.INT,
    FieldDescriptor.TYPE_SFIXED32: WireScalar.INT,
    FieldDescriptor.TYPE_UINT32: WireScalar.LONG,
    FieldDescriptor.TYPE_FIXED32: WireScalar.LONG,
    FieldDescriptor.TYPE_INT64: WireScalar.LONG,
    FieldDescriptor.TYPE_SINT64: WireScalar.LONG,
    FieldDescriptor.TYPE_SFIXED64: WireScalar.LONG,
    FieldDescriptor.TYPE_UINT64: WireScalar.LONG,
    FieldDescriptor.TYPE_FIXED64: WireScalar.LONG,
    FieldDescriptor.TYPE_FLOAT: WireScalar.FLOAT,
    FieldDescriptor.TYPE_DOUBLE: WireScalar.DOUBLE,
    FieldDescriptor.TYPE_STRING: WireScalar.STRING,
    FieldDescriptor.TYPE_BYTES: WireScalar.BYTES,
    FieldDescriptor.TYPE_ENUM: WireScalar.STRING,
}
_UNSIGNED = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_LOGICAL = {DATE: WireScalar.DATE, TIME: WireScalar.TIME, TIMESTAMP: WireScalar.TIMESTAMP}


def is_wrapper(message: Descriptor) -> bool:
    """Return whether a message is a wrapper: one scalar that may be unset."""
    return (
        message.full_name.startswith(_WRAPPERS)
        and message.name.endswith("Value")
        and ([field.name for field in message.fields] == ["value"])
    )


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map: repeated messages with a key and a value."""
    if not field.is_repeated or field.message_type is None:
        return False
    entry = field.message_type
    return (
        entry.name.endswith("Entry")
        and [part.name for part in entry.fields] == ["key", "value"]
        and not any(part.is_repeated for part in entry.fields)
    )


def entry_of(field: FieldDescriptor) -> Descriptor:
    """Return the message of a map's entries."""
    assert field.message_type is not None
    return field.message_type


def _owner(field: FieldDescriptor) -> str:
    """Return the full name of the message that a field belongs to."""
    assert field.containing_type is not None
    return field.containing_type.full_name


def real_oneofs(message: Descriptor) -> list[OneofDescriptor]:
    """Return the oneofs of the schema's text, without those of optional fields."""
    return [
        oneof
        for oneof in message.oneofs
        if not (len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}")
    ]


def oneof_field_name(oneof: OneofDescriptor) -> str:
    return f"{oneof.name}_{oneof.index}"


class Messages:
    """Finds wire types of the messages of a file, and functions that extract their values."""

    def __init__(self, file: ProtoFile) -> None:
        self._file = file

    def wire(self, message: Descriptor, above: tuple[str, ...] = ()) -> Wire:
        """Return the wire type of a message. Each oneof is a struct, before all other fields."""
        if is_wrapper(message):
            return _KINDS[message.fields[0].type]
        if message.full_name in above:
            raise ValueError(f"message {message.full_name!r} contains itself: no SQL type can")
        inside = (*above, message.full_name)
        oneofs = real_oneofs(message)
        members = {member.name for oneof in oneofs for member in oneof.fields}
        fields = [
            WireField(
                oneof_field_name(oneof),
                WireStruct(tuple(WireField(f.name, self._field(f, inside)) for f in oneof.fields)),
            )
            for oneof in oneofs
        ]
        fields += [
            WireField(field.name, self._field(field, inside))
            for field in message.fields
            if field.name not in members
        ]
        return WireStruct(tuple(fields))

    def _field(self, field: FieldDescriptor, above: tuple[str, ...]) -> Wire:
        if is_map(field):
            key, value = entry_of(field).fields
            return WireMap(self._field(key, above), self._field(value, above))
        single = self._single(field, above)
        return WireArray(single) if field.is_repeated else single

    def _single(self, field: FieldDescriptor, above: tuple[str, ...]) -> Wire:
        message = field.message_type
        if message is None:
            return _KINDS[field.type]
        if message.full_name == DECIMAL:
            said = self._file.parameters.get((_owner(field), field.name), {})
            precision = int(said.get("precision", DEFAULT_PRECISION))
            return WireDecimal(precision, int(said.get("scale", 0)))
        return _LOGICAL.get(message.full_name) or self.wire(message, above)

    def extractor(self, message: Descriptor) -> Extract:
        """Return the function from a message to its wire value."""
        if is_wrapper(message):
            return lambda value: value.value
        oneofs = real_oneofs(message)
        members = {member.name for oneof in oneofs for member in oneof.fields}
        plan = [(oneof_field_name(o), self._of_oneof(o)) for o in oneofs]
        plan += [(f.name, self._of_field(f)) for f in message.fields if f.name not in members]
        return lambda value: {name: extract(value) for name, extract in plan}

    def _of_oneof(self, oneof: OneofDescriptor) -> Extract:
        name, members = oneof.name, {f.name: self._of_value(f) for f in oneof.fields}

        def extract(message: Any) -> dict[str, Any] | None:
            chosen = message.WhichOneof(name)
            if chosen is None:
                return None
            found: dict[str, Any] = dict.fromkeys(members)
            found[chosen] = members[chosen](getattr(message, chosen))
            return found

        return extract

    def _of_field(self, field: FieldDescriptor) -> Extract:
        """Return the function from the message that has the field to the field's value."""
        name, convert = field.name, self._of_value(field)
        if is_map(field):
            return self._of_map(field)
        if field.is_repeated:
            return lambda message: [convert(item) for item in getattr(message, name)]
        is_optional = (_owner(field), name) in self._file.optional
        if field.message_type is not None or is_optional:
            return lambda message: (
                convert(getattr(message, name)) if message.HasField(name) else None
            )
        if convert is _same:
            return lambda message: getattr(message, name)
        return lambda message: convert(getattr(message, name))

    def _of_map(self, field: FieldDescriptor) -> Extract:
        name = field.name
        entry = entry_of(field)
        key, value = entry.fields
        of_key, of_value = self._of_value(key), self._of_value(value)
        if entry.GetOptions().map_entry:
            return lambda message: {
                of_key(k): of_value(v) for k, v in getattr(message, name).items()
            }
        from_key, from_value = self._of_field(key), self._of_field(value)
        return lambda message: {from_key(e): from_value(e) for e in getattr(message, name)}

    def _of_value(self, field: FieldDescriptor) -> Extract:
        """Return the function from one item of the field to its wire value."""
        message = field.message_type
        if message is not None:
            return _SPECIAL.get(message.full_name) or self.extractor(message)
        if field.type == FieldDescriptor.TYPE_ENUM:
            return _enum(field)
        return java.wrap_long if field.type in _UNSIGNED else _same


def _enum(field: FieldDescriptor) -> Extract:
    enum = field.enum_type
    assert enum is not None
    names = {number: value.name for number, value in enum.values_by_number.items()}
    unknown = f"UNKNOWN_ENUM_VALUE_{enum.name}_"
    return lambda number: names.get(number) or f"{unknown}{number}"


def _decimal(message: Any) -> Decimal:
    unscaled = Decimal(int.from_bytes(message.value, "big", signed=True))
    return java.EXACT.scaleb(unscaled, -message.scale)


def _date(message: Any) -> int:
    return days_of(date(message.year, message.month, message.day))


def _time(message: Any) -> int:
    seconds = (message.hours * 60 + message.minutes) * 60 + message.seconds
    return int(seconds * 1000 + message.nanos // 1_000_000)


def _timestamp(message: Any) -> int:
    return int(message.seconds * 1000 + message.nanos // 1_000_000)


def _same(value: Any) -> Any:
    return value


_SPECIAL: dict[str, Extract] = {
    DECIMAL: _decimal,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _timestamp,
}
