"""Protobuf messages as dicts of plain Python values, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.protobuf_read import is_wrapper

Convert = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: Messages that stand for any JSON value.
_JSON = ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue")


def dict_maker(message: Descriptor) -> Convert:
    """Return the function from a message to a dict with all of its fields."""
    # A message may contain itself, so its fields are looked up with the first message.
    plan: list[tuple[str, bool, Convert]] = []

    def to_dict(value: Any) -> dict[str, Any]:
        if not plan:
            plan.extend(
                (field.name, field.has_presence, _from_field(field)) for field in message.fields
            )
        return {
            name: None if has_presence and not value.HasField(name) else get(getattr(value, name))
            for name, has_presence, get in plan
        }

    return to_dict


def _from_field(field: FieldDescriptor) -> Convert:
    if _is_map(field):
        of_value = _from_single(_entry(field).fields_by_name["value"])
        return lambda items: {key: of_value(items[key]) for key in items}
    convert = _from_single(field)
    return (lambda items: [convert(item) for item in items]) if field.is_repeated else convert


def _from_single(field: FieldDescriptor) -> Convert:
    if field.enum_type is not None:
        names = {number: each.name for number, each in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, number)
    message = field.message_type
    if message is None:
        return _same
    if is_wrapper(message):
        return lambda wrapper: wrapper.value
    if message.full_name in _JSON:
        return MessageToDict
    return _READERS.get(message.full_name) or dict_maker(message)


def message_maker(message: Descriptor) -> Convert:
    """Return the function from a dict to a message; members that are None are left out.

    The function raises ValueError or TypeError for what the message cannot hold.
    """
    make, fields = GetMessageClass(message), message.fields_by_name
    known: dict[str, Convert] = {}

    def to_message(value: Mapping[str, Any]) -> Any:
        members = {}
        for name, member in value.items():
            if member is None:
                continue
            if name not in known:
                if name not in fields:
                    raise ValueError(f"message {message.full_name!r} has no field {name!r}")
                known[name] = _to_field(fields[name])
            members[name] = known[name](member)
        return make(**members)

    return to_message


def _to_field(field: FieldDescriptor) -> Convert:
    if _is_map(field):
        of_value = _to_single(_entry(field).fields_by_name["value"])
        return lambda items: {key: of_value(value) for key, value in items.items()}
    convert = _to_single(field)
    return (lambda items: [convert(item) for item in items]) if field.is_repeated else convert


def _to_single(field: FieldDescriptor) -> Convert:
    message = field.message_type
    if message is None:
        return _same
    make = GetMessageClass(message)
    if is_wrapper(message):
        return lambda value: make(value=value)
    if message.full_name in _JSON:
        return lambda value: ParseDict(value, make())
    writer = _WRITERS.get(message.full_name)
    return message_maker(message) if writer is None else lambda value: make(**writer(value))


def _is_map(field: FieldDescriptor) -> bool:
    message = field.message_type
    return message is not None and message.GetOptions().map_entry


def _entry(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _from_timestamp(message: Any) -> datetime:
    return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def _to_timestamp(value: datetime) -> dict[str, int]:
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone: say which moment it is")
    return _seconds_and_nanos(value - _EPOCH)


def _from_duration(message: Any) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos / 1000)


def _to_duration(value: timedelta) -> dict[str, int]:
    # Seconds and nanoseconds of a duration have the same sign.
    if value < timedelta():
        return {name: -part for name, part in _seconds_and_nanos(-value).items()}
    return _seconds_and_nanos(value)


def _seconds_and_nanos(value: timedelta) -> dict[str, int]:
    seconds, micros = divmod(value // _MICROSECOND, 1_000_000)
    return {"seconds": seconds, "nanos": micros * 1000}


def _same(value: Any) -> Any:
    return value


_READERS: dict[str, Convert] = {
    "google.protobuf.Timestamp": _from_timestamp,
    "google.protobuf.Duration": _from_duration,
}
_WRITERS: dict[str, Callable[[Any], dict[str, int]]] = {
    "google.protobuf.Timestamp": _to_timestamp,
    "google.protobuf.Duration": _to_duration,
}
