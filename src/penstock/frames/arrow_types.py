"""The Arrow type of a declared Python type, so that a column has a type before its first value."""

from __future__ import annotations

import types
from collections import abc
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)
from uuid import UUID

import pyarrow as pa

from penstock.serde.from_json import Hints, is_pydantic_model, member_types

#: The time of a record, and the bounds of a window.
INSTANT = pa.timestamp("ms", tz="UTC")
_SCALARS: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    bytes: pa.binary(),
    UUID: pa.string(),
    datetime: pa.timestamp("us", tz="UTC"),
    date: pa.date32(),
    time: pa.time64("us"),
    timedelta: pa.duration("us"),
}
_LISTS = (list, tuple, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Set, abc.MutableSet)


def arrow_type(declared: Any, hints: Hints) -> pa.DataType | None:
    """Return the Arrow type of values of a declared type; None if only the values can tell.

    >>> arrow_type(list[int] | None, {})
    ListType(list<item: int64>)
    """
    while isinstance(declared, NewType) or get_origin(declared) is Annotated:
        is_new = isinstance(declared, NewType)
        declared = declared.__supertype__ if is_new else get_args(declared)[0]
    if declared in _SCALARS:
        return _SCALARS[declared]
    args, origin = get_args(declared), get_origin(declared) or declared
    if origin is Literal:
        return _common([type(each) for each in args], hints)
    if origin in (Union, types.UnionType):
        return _common([arm for arm in args if arm is not type(None)], hints)
    if not isinstance(origin, type):
        return None
    if issubclass(origin, Enum):
        return _common([type(each.value) for each in origin], hints)
    members = member_arrow_types(origin, hints)
    if members is not None:
        return _struct(members)
    if origin in (dict, abc.Mapping, abc.MutableMapping) and len(args) == 2:
        value = arrow_type(args[1], hints)
        return None if value is None or args[0] is not str else pa.map_(pa.string(), value)
    if origin in _LISTS and args and (origin is not tuple or args[1:] == (Ellipsis,)):
        item = arrow_type(args[0], hints)
        return None if item is None else pa.list_(item)
    return None


def member_arrow_types(declared: Any, hints: Hints) -> dict[str, pa.DataType | None] | None:
    """Return the types of the members of a class in their order; None if it has none."""
    if is_dataclass(declared):
        names = [each.name for each in fields(declared)]
    elif is_typeddict(declared):
        names = list(declared.__annotations__)
    elif is_pydantic_model(declared):
        return {
            name: arrow_type(field.annotation, hints)
            for name, field in declared.model_fields.items()
        }
    elif (
        isinstance(declared, type) and issubclass(declared, tuple) and hasattr(declared, "_fields")
    ):
        names = list(declared._fields)
    else:
        return None
    try:
        found = member_types(declared, hints)
    except (NameError, TypeError):
        found = {}
    return {name: arrow_type(found.get(name), hints) for name in names}


def _struct(members: dict[str, pa.DataType | None]) -> pa.DataType | None:
    known = [(name, each) for name, each in members.items() if each is not None]
    return pa.struct(known) if len(known) == len(members) else None


def _common(arms: list[Any], hints: Hints) -> pa.DataType | None:
    found = {arrow_type(arm, hints) for arm in arms}
    return found.pop() if len(found) == 1 else None
