"""Types as written; ``penstock.sql.catalog.type_names.resolve`` finds the types they name."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sql.ast.node import Node


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    """A built-in or custom type by name: ``INT``, ``DECIMAL(4, 2)``, ``ADDRESS``."""

    name: str
    parameters: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayOf(Node):
    """``ARRAY<element>``."""

    element: TypeNode


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    """``MAP<key, value>``."""

    key: TypeNode
    value: TypeNode


@dataclass(frozen=True, slots=True)
class FieldType(Node):
    """One field of a ``STRUCT`` type."""

    name: str
    type: TypeNode


@dataclass(frozen=True, slots=True)
class StructOf(Node):
    """``STRUCT<name type, ...>``."""

    fields: tuple[FieldType, ...]


TypeNode = NamedType | ArrayOf | MapOf | StructOf
