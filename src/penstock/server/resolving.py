"""Statements that mean the same on every node, whatever the schema registry says later."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.sql.errors import SqlError
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.syntax.format import format_statement
from penstock.sql.syntax.parser import parse_statement, parse_type


def with_columns(statement: Node, catalog: Catalog, sql: str) -> str:
    """Return a statement with the columns that it left to the schema registry.

    before: CREATE STREAM clicks WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='AVRO');
    after:  CREATE STREAM CLICKS (USER VARCHAR) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='AVRO');

    A schema that the statement names by its id never changes, so that statement stays as it is.
    """
    if not isinstance(statement, ast.CreateSource):
        return sql
    source = catalog.sources.get(statement.name)
    if source is None or len(source.schema.columns) == len(statement.columns):
        return sql
    ids = (source.key_format.properties.schema_id, source.value_format.properties.schema_id)
    if any(each is not None for each in ids):
        return sql
    declared = replace(statement, columns=tuple(_columns(source)))
    text = f"{format_statement(declared)};"
    try:
        parse_statement(text, {})
    except SqlError:
        return sql
    return text


def _columns(source: DataSource) -> list[ast.Column]:
    ordered = (*source.schema.key, *source.schema.value, *source.schema.headers)
    return [_column(column, is_table=source.is_table) for column in ordered]


def _column(column: SourceColumn, *, is_table: bool) -> ast.Column:
    constraint: ast.Constraint | None = None
    if column.namespace == "KEY":
        constraint = "PRIMARY KEY" if is_table else "KEY"
    elif column.namespace == "HEADERS":
        constraint = "HEADERS" if column.header is None else "HEADER"
    return ast.Column(column.name, parse_type(str(column.type)), constraint, column.header)
