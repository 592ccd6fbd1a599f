"""AST to SQL text that parses back to the same AST. The other way: ``sql.syntax.parser``."""

from __future__ import annotations

from typing import assert_never

from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.expressions import Expression
from penstock.sql.ast.queries import Query
from penstock.sql.ast.types import FieldType, StructOf
from penstock.sql.syntax.format_expression import format_expression, format_type, identifier, string
from penstock.sql.syntax.format_query import format_query

__all__ = ["format_expression", "format_query", "format_statement", "format_type"]


def format_statement(statement: ast.Statement) -> str:
    """Write a statement on one line, without its semicolon.

    >>> from penstock.sql.syntax.parser import parse_statement
    >>> format_statement(parse_statement("select a+1 b from s emit changes;"))
    'SELECT A + 1 AS B FROM S EMIT CHANGES'
    """
    match statement:
        case Query():
            return format_query(statement)
        case (
            ast.CreateSource()
            | ast.CreateAsSelect()
            | ast.CreateType()
            | ast.CreateFunction()
            | ast.CreateConnector()
        ):
            return _create(statement)
        case ast.InsertInto() | ast.InsertValues() | ast.InsertRows() | ast.DeleteFrom():
            return _write(statement)
        case (
            ast.DropSource()
            | ast.DropType()
            | ast.DropFunction()
            | ast.DropConnector()
            | ast.AlterSource()
        ):
            return _change(statement)
        case ast.Explain(inner, query_id):
            if inner is None:
                return f"EXPLAIN {identifier(query_id or '')}"
            return f"EXPLAIN {format_statement(inner)}"
        case (
            ast.AssertTopic()
            | ast.AssertSchema()
            | ast.AssertValues()
            | ast.AssertTombstone()
            | ast.AssertSource()
        ):
            return _assertion(statement)
        case _:
            return _administration(statement)


def _write(node: ast.InsertInto | ast.InsertValues | ast.InsertRows | ast.DeleteFrom) -> str:
    match node:
        case ast.InsertInto(name, query, properties):
            return f"INSERT INTO {identifier(name)}{_with(properties)} {format_query(query)}"
        case ast.InsertValues(name, values, columns):
            return f"INSERT INTO {identifier(name)}{_names(columns)} VALUES ({_values(values)})"
        case ast.InsertRows(rows):
            others = (f"({_values(row.values)})" for row in rows[1:])
            return ", ".join([_write(rows[0]), *others])
        case ast.DeleteFrom(name, where):
            return f"DELETE FROM {identifier(name)} WHERE {format_expression(where)}"
        case _:
            assert_never(node)


def _create(
    node: ast.CreateSource
    | ast.CreateAsSelect
    | ast.CreateType
    | ast.CreateFunction
    | ast.CreateConnector,
) -> str:
    if isinstance(node, ast.CreateFunction):
        return _create_function(node)
    guard = "IF NOT EXISTS " if node.if_not_exists else ""
    name = f"{guard}{identifier(node.name)}"
    if isinstance(node, ast.CreateType):
        return f"CREATE TYPE {name} AS {format_type(node.type)}"
    if isinstance(node, ast.CreateConnector):
        return f"CREATE {node.kind} CONNECTOR {name}{_with(node.properties) or ' WITH ()'}"
    replace = "OR REPLACE " if node.or_replace else ""
    if isinstance(node, ast.CreateAsSelect):
        head = f"CREATE {replace}{node.kind} {name}{_with(node.properties)}"
        return f"{head} AS {format_query(node.query)}"
    source = "SOURCE " if node.is_source else ""
    head = f"CREATE {replace}{source}{node.kind} {name}"
    return f"{head}{_columns(node.columns)}{_with(node.properties)}"


def _create_function(node: ast.CreateFunction) -> str:
    head = f"CREATE {'OR REPLACE ' if node.or_replace else ''}FUNCTION "
    guard = "IF NOT EXISTS " if node.if_not_exists else ""
    given = "" if node.parameters is None else f" ({_fields(node.parameters)})"
    body = string(node.body) if "$$" in node.body else f"$${node.body}$$"
    return (
        f"{head}{guard}{identifier(node.name)}{given}{_returns(node)}"
        f" LANGUAGE {identifier(node.language)}{_with(node.properties)} AS {body}"
    )


def _returns(node: ast.CreateFunction) -> str:
    if node.returns is None:
        return ""
    if not node.is_table:
        return f" RETURNS {format_type(node.returns)}"
    match node.returns:
        case StructOf(fields) if len(fields) > 1:
            return f" RETURNS TABLE ({_fields(fields)})"
        case type_:
            return f" RETURNS TABLE (`ROW` {format_type(type_)})"


def _fields(fields: tuple[FieldType, ...]) -> str:
    return ", ".join(f"{identifier(field.name)} {format_type(field.type)}" for field in fields)


def _change(
    node: ast.DropSource | ast.DropType | ast.DropFunction | ast.DropConnector | ast.AlterSource,
) -> str:
    if isinstance(node, ast.AlterSource):
        added = (f"ADD COLUMN {identifier(c.name)} {format_type(c.type)}" for c in node.columns)
        return f"ALTER {node.kind} {identifier(node.name)} {', '.join(added)}"
    name = ("IF EXISTS " if node.if_exists else "") + identifier(node.name)
    if isinstance(node, ast.DropType):
        return f"DROP TYPE {name}"
    if isinstance(node, ast.DropFunction):
        return f"DROP FUNCTION {name}"
    if isinstance(node, ast.DropConnector):
        return f"DROP CONNECTOR {name}"
    return f"DROP {node.kind} {name}{' DELETE TOPIC' if node.delete_topic else ''}"


def _assertion(
    node: ast.AssertTopic
    | ast.AssertSchema
    | ast.AssertValues
    | ast.AssertTombstone
    | ast.AssertSource,
) -> str:
    match node:
        case ast.AssertValues(name, values, columns):
            return f"ASSERT VALUES {identifier(name)}{_names(columns)} VALUES ({_values(values)})"
        case ast.AssertTombstone(name, key, columns):
            return f"ASSERT NULL VALUES {identifier(name)}{_names(columns)} KEY ({_values(key)})"
        case ast.AssertSource(kind, name, columns_, properties):
            return f"ASSERT {kind} {identifier(name)}{_columns(columns_)}{_with(properties)}"
        case ast.AssertTopic() | ast.AssertSchema():
            return _existence(node)
        case _:
            assert_never(node)


def _existence(node: ast.AssertTopic | ast.AssertSchema) -> str:
    head = "ASSERT" if node.exists else "ASSERT NOT EXISTS"
    tail = "" if node.timeout_ms is None else f" TIMEOUT {node.timeout_ms} MILLISECONDS"
    if isinstance(node, ast.AssertTopic):
        return f"{head} TOPIC {string(node.name)}{_with(node.properties)}{tail}"
    subject = "" if node.subject is None else f" SUBJECT {string(node.subject)}"
    schema_id = "" if node.schema_id is None else f" ID {node.schema_id}"
    return f"{head} SCHEMA{subject}{schema_id}{tail}"


def _administration(node: admin.AdministrationStatement) -> str:
    match node:
        case admin.Show(what, extended):
            return f"SHOW {what}{_extended(extended)}"
        case admin.DescribeSource(name, extended):
            return f"DESCRIBE {identifier(name)}{_extended(extended)}"
        case admin.DescribeAll(what_, extended):
            return f"DESCRIBE {what_}{_extended(extended)}"
        case admin.DescribeFunction(name):
            return f"DESCRIBE FUNCTION {identifier(name)}"
        case admin.DescribeConnector(name):
            return f"DESCRIBE CONNECTOR {identifier(name)}"
        case admin.PrintTopic():
            return _print(node)
        case admin.ControlQuery(action, query_id):
            return f"{action} {'ALL' if query_id is None else identifier(query_id)}"
        case _:
            return _setting(node)


def _setting(
    node: admin.SetProperty
    | admin.UnsetProperty
    | admin.AlterSystem
    | admin.Define
    | admin.Undefine
    | admin.RunScript,
) -> str:
    match node:
        case admin.SetProperty(name, value):
            return f"SET {string(name)} = {string(value)}"
        case admin.UnsetProperty(name):
            return f"UNSET {string(name)}"
        case admin.AlterSystem(name, value):
            return f"ALTER SYSTEM {string(name)} = {string(value)}"
        case admin.Define(name, value):
            return f"DEFINE {identifier(name)} = {string(value)}"
        case admin.Undefine(name):
            return f"UNDEFINE {identifier(name)}"
        case admin.RunScript(path):
            return f"RUN SCRIPT {string(path)}"


def _print(node: admin.PrintTopic) -> str:
    beginning = " FROM BEGINNING" if node.from_beginning else ""
    interval = "" if node.interval is None else f" INTERVAL {node.interval}"
    limit = "" if node.limit is None else f" LIMIT {node.limit}"
    return f"PRINT {string(node.topic)}{beginning}{interval}{limit}"


def _extended(extended: bool) -> str:
    return " EXTENDED" if extended else ""


def _columns(columns: tuple[ast.Column, ...]) -> str:
    return f" ({', '.join(_column(column) for column in columns)})" if columns else ""


def _column(column: ast.Column) -> str:
    text = f"{identifier(column.name)} {format_type(column.type)}"
    if column.constraint == "HEADER":
        return f"{text} HEADER({string(column.header or '')})"
    return f"{text} {column.constraint}" if column.constraint else text


def _with(properties: tuple[ast.Property, ...]) -> str:
    if not properties:
        return ""
    pairs = (f"{_property_name(p.name)} = {format_expression(p.value)}" for p in properties)
    return f" WITH ({', '.join(pairs)})"


def _property_name(name: str) -> str:
    text = identifier(name)
    return text if text == name else string(name)


def _names(names: tuple[str, ...]) -> str:
    return f" ({', '.join(identifier(name) for name in names)})" if names else ""


def _values(values: tuple[Expression, ...]) -> str:
    return ", ".join(format_expression(value) for value in values)
