"""Python values as Arrow columns: one for each member, typed as declared or as the values are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from uuid import UUID

import pyarrow as pa

from penstock.frames.arrow_types import arrow_type, member_arrow_types
from penstock.model.versioned import ValueAndTimestamp, ValueTimestampHeaders, VersionedRecord
from penstock.serde.base import Serde
from penstock.serde.shape import NamedMembers, TypeShape
from penstock.serde.tabular import TabularSerde

_JSON = TabularSerde()


def columns_of(
    values: Sequence[Any], serde: Serde[Any] | None, otherwise: str
) -> dict[str, pa.Array]:
    """Return the columns of some values: one for each member, or one called ``otherwise``.

    A value that is None has None in each column. Values that are neither objects nor dicts have
    one column. A column whose values fit no common type is JSON text.

    Args:
        serde: its declared type, if it has one, gives the columns their names and types.
    """
    plain = [_plain(value) for value in values]
    declared = _declared(serde)
    members = None if declared is None else member_arrow_types(declared.of, declared.hints)
    if members is None:
        members = _names_in(plain) or _named(serde)
    if members is None:
        wanted = _type_of(serde)
        if wanted is None and declared is not None:
            wanted = arrow_type(declared.of, declared.hints)
        return {otherwise: array(plain, wanted)}
    rows = [value if isinstance(value, Mapping) else {} for value in plain]
    return {name: array([row.get(name) for row in rows], kind) for name, kind in members.items()}


def array(values: Sequence[Any], wanted: pa.DataType | None) -> pa.Array:
    """Return values as a column of the wanted type, else of their own, else as JSON text.

    >>> array([1, "two"], None).to_pylist()
    ['1', '"two"']
    """
    for kind in (wanted, None):
        try:
            return pa.array(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            # The declared type is not what the values are, or they are of several types.
            continue
    texts = [None if value is None else _JSON.encode(value).decode() for value in values]
    return pa.array(texts, pa.string())


def _declared(serde: Serde[Any] | None) -> TypeShape | None:
    shape = None if serde is None else serde.shape
    return shape if isinstance(shape, TypeShape) else None


def _named(serde: Serde[Any] | None) -> dict[str, pa.DataType | None] | None:
    """Return the names of the members in a schema, such as Avro's; its types are not known here."""
    shape = None if serde is None else serde.shape
    return dict.fromkeys(shape.members) if isinstance(shape, NamedMembers) else None


def _type_of(serde: Serde[Any] | None) -> pa.DataType | None:
    """Return the type that a serde of plain values reads; without rows nothing else tells."""
    return _OF_SERDES.get(type(serde).__name__)


_OF_SERDES = {
    "StringSerde": pa.string(),
    "LongSerde": pa.int64(),
    "IntegerSerde": pa.int32(),
    "ShortSerde": pa.int16(),
    "DoubleSerde": pa.float64(),
    "FloatSerde": pa.float32(),
    "BooleanSerde": pa.bool_(),
    "BytesSerde": pa.binary(),
    "UUIDSerde": pa.string(),
}


def _names_in(values: Sequence[Any]) -> dict[str, pa.DataType | None] | None:
    """Return the names that the dicts among some values have; None if there are other values."""
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
            names |= dict.fromkeys(value)
        elif value is not None:
            return None
    return dict.fromkeys(names) or None


def _plain(value: Any) -> Any:
    """Return a value as Arrow takes it: objects as dicts, sets as lists, ids as text."""
    match value:
        case Enum():
            return _plain(value.value)
        case ValueAndTimestamp() | ValueTimestampHeaders() | VersionedRecord():
            return _plain(value.value)
        case UUID():
            return str(value)
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC)
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case set() | frozenset():
            return sorted((_plain(each) for each in value), key=repr)
        case _:
            members = _members(value)
            if members is not None:
                return {name: _plain(getattr(value, name)) for name in members}
            return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _members(value: Any) -> tuple[str, ...] | None:
    """Return the names of the members of an object of a declared class; None for other values."""
    if is_dataclass(value):
        return tuple(each.name for each in fields(value))
    if hasattr(value, "model_dump"):
        return tuple(type(value).model_fields)
    names = getattr(value, "_fields", None)
    return names if isinstance(names, tuple) else None
