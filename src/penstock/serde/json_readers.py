"""Readers of single JSON shapes. ``penstock.serde.from_json`` combines them to readers of types."""

from __future__ import annotations

import types
from base64 import b64decode
from collections import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

#: From parsed JSON to a value; raises ``JsonShapeError`` if it does not fit.
Read = Callable[[Any], Any]


class JsonShapeError(ValueError):
    """The JSON does not have the declared shape; ``path`` grows while the error travels up."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return f"at ${self.path}: {self.problem}"

    def under(self, step: str) -> JsonShapeError:
        return JsonShapeError(self.problem, step + self.path)


@dataclass(slots=True)
class ObjectReader:
    """Reads an object into a class, member by member; members it does not know are left out."""

    make: Callable[..., Any]
    name: str
    #: Name, the type that needs no reading, reader, and whether the member is required. This is
    #: set after the reader was made, since a type may contain itself.
    members: tuple[tuple[str, Any, Read, bool], ...] = ()

    def __call__(self, value: Any) -> Any:
        if type(value) is not dict:
            raise not_a(f"an object for {self.name}", value)
        found = {}
        for name, exact, read, is_required in self.members:
            if name in value:
                member = value[name]
                found[name] = member if type(member) is exact else _under(name, read, member)
            elif is_required:
                raise JsonShapeError(f"member {name!r} of {self.name} is missing")
        return self.make(**found)


def _under(name: str, read: Read, member: Any) -> Any:
    try:
        return read(member)
    except JsonShapeError as error:
        raise error.under(f".{name}") from None


def not_a(wanted: str, value: Any) -> JsonShapeError:
    return JsonShapeError(f"expected {wanted}, got {value!r:.80}")


def exactly(cls: type, wanted: str) -> Read:
    def read(value: Any) -> Any:
        if type(value) is cls:
            return value
        raise not_a(wanted, value)

    return read


def text(parse: Callable[[str], Any], wanted: str) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not str:
            raise not_a(wanted, value)
        try:
            return parse(value)
        except (ValueError, ArithmeticError):
            raise not_a(wanted, value) from None

    return read


def parsed(cls: type, read_text: Read) -> Read:
    """Return a reader that reads text and leaves a value of the class as it is.

    JSON has dates as text. Avro has them as dates.
    """

    def read(value: Any) -> Any:
        return value if type(value) is cls else read_text(value)

    return read


def enum(cls: type[Enum]) -> Read:
    def read(value: Any) -> Any:
        try:
            return cls(value)
        except ValueError:
            raise not_a(f"one of {[member.value for member in cls]}", value) from None

    return read


def enum_name(cls: type[Enum]) -> Read:
    """Return a reader from a member name, which is text, to an enum with any values."""
    by_text = {str(member.value): member for member in cls}

    def read(name: Any) -> Any:
        return by_text[name] if name in by_text else enum(cls)(name)

    return read


def literal(values: Sequence[Any]) -> Read:
    def read(value: Any) -> Any:
        if any(value == one and type(value) is type(one) for one in values):
            return value
        raise not_a(f"one of {list(values)}", value)

    return read


def union(arms: Sequence[Any], readers: Sequence[Read]) -> Read:
    names = " or ".join(getattr(arm, "__name__", str(arm)) for arm in arms)

    def read(value: Any) -> Any:
        # An exact type goes first: int | float must not turn 5 into 5.0.
        if type(value) in arms and type(value) is not dict:
            return value
        deepest = not_a(names, value)
        for reader in readers:
            try:
                return reader(value)
            except JsonShapeError as error:
                # The error of the arm that could read most is the most helpful one.
                deepest = max(error, deepest, key=lambda one: len(one.path))
        raise deepest if deepest.path else not_a(names, value)

    return read


def sequence(make: Callable[[list[Any]], Any], read_item: Read) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not list:
            raise not_a("an array", value)
        return make(_items(value, [read_item] * len(value)))

    return read


def fixed_tuple(readers: Sequence[Read]) -> Read:
    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list or len(value) != len(readers):
            raise not_a(f"an array of {len(readers)}", value)
        return tuple(_items(value, readers))

    return read


def _items(values: list[Any], readers: Sequence[Read]) -> list[Any]:
    found: list[Any] = []
    for read, value in zip(readers, values, strict=True):
        try:
            found.append(read(value))
        except JsonShapeError as error:
            raise error.under(f"[{len(found)}]") from None
    return found


def mapping(read_name: Read, read_member: Read) -> Read:
    def read(value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
            raise not_a("an object", value)
        found = {}
        for name, member in value.items():
            found[_under(name, read_name, name)] = _under(name, read_member, member)
        return found

    return read


def _anything(value: Any) -> Any:
    return value


def _none(value: Any) -> None:
    if value is not None:
        raise not_a("null", value)


def _float(value: Any) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    raise not_a("a number", value)


_decimal_text = text(Decimal, "a decimal number")


def _decimal(value: Any) -> Any:
    # The parser made a float of a JSON number. Its shortest text is the number as written.
    return _decimal_text(str(value) if type(value) in (int, float) else value)


SCALARS: dict[Any, Read] = {
    Any: _anything,
    object: _anything,
    None: _none,
    types.NoneType: _none,
    str: exactly(str, "text"),
    bool: exactly(bool, "true or false"),
    int: exactly(int, "an integer"),
    float: _float,
    Decimal: parsed(Decimal, _decimal),
    UUID: parsed(UUID, text(UUID, "a UUID")),
    datetime: parsed(datetime, text(datetime.fromisoformat, "an ISO 8601 time")),
    date: parsed(date, text(date.fromisoformat, "an ISO 8601 date")),
    time: parsed(time, text(time.fromisoformat, "an ISO 8601 time of day")),
    bytes: parsed(bytes, text(lambda value: b64decode(value, validate=True), "base64 text")),
}

#: Types that a JSON parser returns, so that members of these types need no reader.
PARSED = frozenset({str, bool, int, float})

SEQUENCES: dict[type, Callable[[list[Any]], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    abc.Sequence: list,
    abc.Iterable: list,
    abc.Collection: list,
    abc.Set: frozenset,
}
