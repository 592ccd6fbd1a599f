"""What a format needs to know about a column and about its type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from penstock.model.sql.types import ArrayType, MapType, SqlType, StructType


class ColumnLike(Protocol):
    """Anything with a name and a type: the catalog's columns, or a struct's fields."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> SqlType: ...


def parts(type_: SqlType) -> Iterator[SqlType]:
    """Return a type and every type inside it."""
    yield type_
    match type_:
        case ArrayType(element):
            yield from parts(element)
        case MapType(key, value):
            yield from parts(key)
            yield from parts(value)
        case StructType(fields):
            for field in fields:
                yield from parts(field.type)
        case _:
            pass


def kind_of(type_: SqlType) -> str:
    """Return the name of a type without its parameters, as messages show it."""
    return str(type_).partition("<")[0].partition("(")[0]
