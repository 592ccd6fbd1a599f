"""Statements about streams, tables, rows and running queries. Others: ``ast.administration``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from penstock.sql.ast.administration import AdministrationStatement
from penstock.sql.ast.expressions import Expression, Literals
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query
from penstock.sql.ast.types import FieldType, TypeNode

SourceKind = Literal["STREAM", "TABLE"]
Constraint = Literal["KEY", "PRIMARY KEY", "HEADERS", "HEADER"]


@dataclass(frozen=True, slots=True)
class Property(Node):
    """``NAME = value`` inside WITH. Unquoted names are upper-cased, quoted ones kept."""

    name: str
    value: Literals


@dataclass(frozen=True, slots=True)
class Column(Node):
    """A column of CREATE; ``header`` is the key of ``HEADER('key')``."""

    name: str
    type: TypeNode
    constraint: Constraint | None = None
    header: str | None = None


@dataclass(frozen=True, slots=True)
class CreateSource(Node):
    """``CREATE STREAM|TABLE name (columns) WITH (...)``; no columns means: infer them."""

    kind: SourceKind
    name: str
    columns: tuple[Column, ...] = ()
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    is_source: bool = False


@dataclass(frozen=True, slots=True)
class CreateAsSelect(Node):
    """``CREATE STREAM|TABLE name WITH (...) AS query``."""

    kind: SourceKind
    name: str
    query: Query
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertInto(Node):
    """``INSERT INTO name [WITH (...)] query``."""

    name: str
    query: Query
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertValues(Node):
    """``INSERT INTO name [(columns)] VALUES (values)``; no columns means all, in order."""

    name: str
    values: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertRows(Node):
    """``INSERT INTO name [(columns)] VALUES (values), (values)``: several rows in one statement."""

    rows: tuple[InsertValues, ...]


@dataclass(frozen=True, slots=True)
class DeleteFrom(Node):
    """``DELETE FROM table WHERE condition``: writes a tombstone for the key."""

    name: str
    where: Expression


@dataclass(frozen=True, slots=True)
class DropSource(Node):
    """``DROP STREAM|TABLE [IF EXISTS] name [DELETE TOPIC]``."""

    kind: SourceKind
    name: str
    if_exists: bool = False
    delete_topic: bool = False


@dataclass(frozen=True, slots=True)
class NewColumn(Node):
    """One ``ADD COLUMN`` of ALTER."""

    name: str
    type: TypeNode


@dataclass(frozen=True, slots=True)
class AlterSource(Node):
    """``ALTER STREAM|TABLE name ADD [COLUMN] ...``."""

    kind: SourceKind
    name: str
    columns: tuple[NewColumn, ...]


@dataclass(frozen=True, slots=True)
class CreateType(Node):
    """``CREATE TYPE name AS type``."""

    name: str
    type: TypeNode
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropType(Node):
    """``DROP TYPE [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateConnector(Node):
    """``CREATE SOURCE|SINK CONNECTOR name WITH (...)``."""

    kind: Literal["SOURCE", "SINK"]
    name: str
    properties: tuple[Property, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropConnector(Node):
    """``DROP CONNECTOR [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Explain(Node):
    """``EXPLAIN`` a statement, or a running query by its id."""

    statement: Query | CreateAsSelect | InsertInto | None = None
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class CreateFunction(Node):
    """``CREATE FUNCTION name [(parameters)] [RETURNS ...] LANGUAGE language [WITH (...)] AS body``.

    ``parameters`` None means that the types come from the body. ``body_line`` is the line of the
    script where the body begins.
    """

    name: str
    language: str
    body: str
    parameters: tuple[FieldType, ...] | None = None
    returns: TypeNode | None = None
    is_table: bool = False
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    body_line: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class DropFunction(Node):
    """``DROP FUNCTION [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AssertTopic(Node):
    """``ASSERT [NOT EXISTS] TOPIC name [WITH (...)] [TIMEOUT ...]``."""

    name: str
    properties: tuple[Property, ...] = ()
    timeout_ms: int | None = None
    exists: bool = True


@dataclass(frozen=True, slots=True)
class AssertSchema(Node):
    """``ASSERT [NOT EXISTS] SCHEMA [SUBJECT name] [ID n] [TIMEOUT ...]``."""

    subject: str | None = None
    schema_id: int | None = None
    timeout_ms: int | None = None
    exists: bool = True


@dataclass(frozen=True, slots=True)
class AssertValues(Node):
    """``ASSERT VALUES name [(columns)] VALUES (...)``; only in SQL tests."""

    name: str
    values: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssertTombstone(Node):
    """``ASSERT NULL VALUES name [(columns)] KEY (...)``; only in SQL tests."""

    name: str
    key: tuple[Expression, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssertSource(Node):
    """``ASSERT STREAM|TABLE name (columns) WITH (...)``; only in SQL tests."""

    kind: SourceKind
    name: str
    columns: tuple[Column, ...] = ()
    properties: tuple[Property, ...] = ()


Statement = (
    Query
    | CreateSource
    | CreateAsSelect
    | InsertInto
    | InsertValues
    | InsertRows
    | DeleteFrom
    | DropSource
    | AlterSource
    | CreateType
    | DropType
    | CreateFunction
    | DropFunction
    | CreateConnector
    | DropConnector
    | Explain
    | AssertTopic
    | AssertSchema
    | AssertValues
    | AssertTombstone
    | AssertSource
    | AdministrationStatement
)
