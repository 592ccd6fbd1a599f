"""Builders of statements."""

from __future__ import annotations

from typing import Any

from lark import Token

from penstock.model.sql.errors import ParseError
from penstock.model.sql.span import Span
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.queries import Query, TimeSpan
from penstock.sql.ast.types import FieldType, StructOf, TypeNode
from penstock.sql.builders.rules import builds
from penstock.sql.syntax.lexer import check_variable_name


@builds("create")
def create(
    span: Span | None,
    or_replace: bool | None,
    is_source: bool | None,
    kind: Any,
    if_not_exists: bool | None,
    *parts: Any,
) -> ast.CreateSource | ast.CreateAsSelect:
    name, columns, properties, query = parts
    if query is None:
        return ast.CreateSource(
            kind,
            name,
            columns or (),
            properties or (),
            or_replace=bool(or_replace),
            if_not_exists=bool(if_not_exists),
            is_source=bool(is_source),
            span=span,
        )
    _check_create_as(kind, columns, is_source, span)
    return ast.CreateAsSelect(
        kind,
        name,
        query,
        properties or (),
        or_replace=bool(or_replace),
        if_not_exists=bool(if_not_exists),
        span=span,
    )


def _check_create_as(kind: str, columns: Any, is_source: bool | None, span: Span | None) -> None:
    if columns is not None:
        raise ParseError(
            "columns-and-query",
            f"CREATE {kind} ... AS SELECT takes its columns from the query",
            fix="leave out the list of columns",
            span=span,
        )
    if is_source:
        raise ParseError(
            "source-and-query",
            f"a SOURCE {kind} is read-only and cannot be the result of a query",
            fix="leave out SOURCE",
            span=span,
        )


@builds(
    "or_replace",
    "source_flag",
    "if_not_exists",
    "if_exists",
    "not_exists",
    "delete_topic",
    "extended",
    "from_beginning",
)
def given(_: Span | None) -> bool:
    return True


@builds("source_kind", "connector_kind", "control_action", "all_sources")
def word(_: Span | None, token: Token) -> str:
    return str(token)


@builds("create_type")
def create_type(span: Span | None, if_not_exists: Any, name: str, type_: Any) -> ast.CreateType:
    return ast.CreateType(name, type_, if_not_exists=bool(if_not_exists), span=span)


@builds("create_function")
def create_function(
    span: Span | None,
    or_replace: Any,
    if_not_exists: Any,
    name: str,
    parameters: Any,
    *parts: Any,
) -> ast.CreateFunction:
    returned, language, properties, body = parts
    return ast.CreateFunction(
        name,
        language,
        str(body),
        parameters,
        None if returned is None else returned[0],
        is_table=returned is not None and returned[1],
        properties=properties or (),
        or_replace=bool(or_replace),
        if_not_exists=bool(if_not_exists),
        body_line=body.line or 1,
        span=span,
    )


@builds("returned_value")
def returned_value(_: Span | None, type_: TypeNode) -> tuple[TypeNode, bool]:
    return type_, False


@builds("returned_rows")
def returned_rows(span: Span | None, *fields: FieldType) -> tuple[TypeNode, bool]:
    """Return the type of the rows: the type of a single column, or a struct of several."""
    return (fields[0].type if len(fields) == 1 else StructOf(fields, span=span)), True


@builds("create_connector")
def create_connector(
    span: Span | None, kind: Any, if_not_exists: Any, name: str, properties: Any
) -> ast.CreateConnector:
    exists = bool(if_not_exists)
    return ast.CreateConnector(kind, name, properties, if_not_exists=exists, span=span)


@builds("insert_select")
def insert_select(span: Span | None, name: str, properties: Any, query: Query) -> ast.InsertInto:
    return ast.InsertInto(name, query, properties or (), span=span)


@builds("insert_values")
def insert_values(
    span: Span | None, name: str, columns: Any, *rows: Any
) -> ast.InsertValues | ast.InsertRows:
    inserts = tuple(ast.InsertValues(name, values, columns or (), span=span) for values in rows)
    return inserts[0] if len(inserts) == 1 else ast.InsertRows(inserts, span=span)


@builds("delete_from")
def delete_from(span: Span | None, name: str, where: Any) -> ast.DeleteFrom:
    return ast.DeleteFrom(name, where, span=span)


@builds("drop_source")
def drop_source(
    span: Span | None, kind: Any, if_exists: Any, name: str, delete_topic: Any
) -> ast.DropSource:
    return ast.DropSource(
        kind, name, if_exists=bool(if_exists), delete_topic=bool(delete_topic), span=span
    )


@builds("drop_type")
def drop_type(span: Span | None, if_exists: Any, name: str) -> ast.DropType:
    return ast.DropType(name, if_exists=bool(if_exists), span=span)


@builds("drop_function")
def drop_function(span: Span | None, if_exists: Any, name: str) -> ast.DropFunction:
    return ast.DropFunction(name, if_exists=bool(if_exists), span=span)


@builds("drop_connector")
def drop_connector(span: Span | None, if_exists: Any, name: str) -> ast.DropConnector:
    return ast.DropConnector(name, if_exists=bool(if_exists), span=span)


@builds("alter_source")
def alter_source(span: Span | None, kind: Any, name: str, *columns: Any) -> ast.AlterSource:
    return ast.AlterSource(kind, name, columns, span=span)


@builds("new_column")
def new_column(span: Span | None, name: str, type_: Any) -> ast.NewColumn:
    return ast.NewColumn(name, type_, span=span)


@builds("columns", "properties", "names", "parameters")
def listed(_: Span | None, *items: Any) -> tuple[Any, ...]:
    return tuple(item for item in items if item is not None)


@builds("column")
def column(span: Span | None, name: str, type_: Any, constraint: Any) -> ast.Column:
    kind, header = constraint or (None, None)
    return ast.Column(name, type_, kind, header, span=span)


@builds("key")
def key(_: Span | None) -> tuple[str, None]:
    return "KEY", None


@builds("primary_key")
def primary_key(_: Span | None) -> tuple[str, None]:
    return "PRIMARY KEY", None


@builds("headers")
def headers(_: Span | None) -> tuple[str, None]:
    return "HEADERS", None


@builds("header")
def header(_: Span | None, name: Token) -> tuple[str, str]:
    return "HEADER", str(name)


@builds("property")
def property_(span: Span | None, name: str, value: Any) -> ast.Property:
    return ast.Property(str(name), value, span=span)


@builds("explain")
def explain(span: Span | None, subject: Any) -> ast.Explain:
    if isinstance(subject, str):
        return ast.Explain(query_id=subject, span=span)
    if isinstance(subject, ast.CreateSource):
        raise ParseError(
            "explain-without-query",
            f"CREATE {subject.kind} {subject.name!r} has no query to explain",
            fix=f"DESCRIBE {subject.name}",
            span=span,
        )
    return ast.Explain(subject, span=span)


@builds("assert_topic")
def assert_topic(
    span: Span | None, not_exists: Any, name: str, properties: Any, timeout: Any
) -> ast.AssertTopic:
    return ast.AssertTopic(name, properties or (), _ms(timeout), exists=not not_exists, span=span)


@builds("assert_schema")
def assert_schema(
    span: Span | None, not_exists: Any, subject: Any, schema_id: Any, timeout: Any
) -> ast.AssertSchema:
    if subject is None and schema_id is None:
        raise ParseError(
            "assert-without-schema",
            "ASSERT SCHEMA names no schema",
            fix="add SUBJECT name, ID number or both",
            span=span,
        )
    return ast.AssertSchema(subject, schema_id, _ms(timeout), exists=not not_exists, span=span)


@builds("assert_values")
def assert_values(span: Span | None, name: str, columns: Any, values: Any) -> ast.AssertValues:
    return ast.AssertValues(name, values, columns or (), span=span)


@builds("assert_tombstone")
def assert_tombstone(span: Span | None, name: str, columns: Any, key: Any) -> ast.AssertTombstone:
    return ast.AssertTombstone(name, key, columns or (), span=span)


@builds("assert_source")
def assert_source(
    span: Span | None, kind: Any, name: str, columns: Any, properties: Any
) -> ast.AssertSource:
    return ast.AssertSource(kind, name, columns or (), properties or (), span=span)


@builds("topic_name")
def topic_name(_: Span | None, token: Token) -> str:
    """Return a topic name in the case as written: Kafka distinguishes ``Orders`` and ``ORDERS``."""
    return str(token.value)


@builds("subject")
def subject(_: Span | None, name: str) -> str:
    return name


@builds("listing")
def listing(_: Span | None, *words: Token) -> str:
    return " ".join(words)


@builds("show")
def show(span: Span | None, what: Any, extended: Any) -> admin.Show:
    return admin.Show(what, is_extended=bool(extended), span=span)


@builds("describe_source")
def describe_source(span: Span | None, name: str, extended: Any) -> admin.DescribeSource:
    return admin.DescribeSource(name, is_extended=bool(extended), span=span)


@builds("describe_all")
def describe_all(span: Span | None, what: Any, extended: Any) -> admin.DescribeAll:
    return admin.DescribeAll(what, is_extended=bool(extended), span=span)


@builds("describe_function")
def describe_function(span: Span | None, name: str) -> admin.DescribeFunction:
    return admin.DescribeFunction(name, span=span)


@builds("describe_connector")
def describe_connector(span: Span | None, name: str) -> admin.DescribeConnector:
    return admin.DescribeConnector(name, span=span)


@builds("print_topic")
def print_topic(
    span: Span | None, topic: str, beginning: Any, interval: Any, limit: Any
) -> admin.PrintTopic:
    return admin.PrintTopic(topic, bool(beginning), interval, limit, span=span)


@builds("control_query")
def control_query(span: Span | None, action: Any, query_id: str | None) -> admin.ControlQuery:
    return admin.ControlQuery(action, query_id, span=span)


@builds("all_queries")
def all_queries(_: Span | None) -> None:
    return None


@builds("set_property")
def set_property(span: Span | None, name: Token, value: Token) -> admin.SetProperty:
    return admin.SetProperty(str(name), str(value), span=span)


@builds("unset_property")
def unset_property(span: Span | None, name: Token) -> admin.UnsetProperty:
    return admin.UnsetProperty(str(name), span=span)


@builds("alter_system")
def alter_system(span: Span | None, name: Token, value: Token) -> admin.AlterSystem:
    return admin.AlterSystem(str(name), str(value), span=span)


@builds("define")
def define(span: Span | None, name: str, value: Token) -> admin.Define:
    check_variable_name(name, span)
    return admin.Define(name, str(value), span=span)


@builds("undefine")
def undefine(span: Span | None, name: str) -> admin.Undefine:
    return admin.Undefine(name, span=span)


@builds("run_script")
def run_script(span: Span | None, path: Token) -> admin.RunScript:
    return admin.RunScript(str(path), span=span)


def _ms(timeout: TimeSpan | None) -> int | None:
    return None if timeout is None else timeout.ms
