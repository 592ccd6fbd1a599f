"""Masks secrets in statements, for logs, listings and error messages."""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.model.secrets import shown
from penstock.model.sql.errors import SqlError
from penstock.sql.ast.expressions import StringLiteral
from penstock.sql.ast.statements import CreateConnector, Property
from penstock.sql.syntax.assignments import Assignment, with_values
from penstock.sql.syntax.format import format_statement
from penstock.sql.syntax.parser import parse_statement, split_statements

#: The text that ksqlDB shows instead of a value.
MASK = "[string]"
#: Properties of connectors that are never secret. Each connector has other properties of its own.
OPEN = frozenset({"connector.class"})
_CONNECTOR = re.compile(r"(?is)\bCREATE\s++(?:SOURCE|SINK)\s++CONNECTOR\b")


def masked_connector(statement: CreateConnector) -> str:
    """Return CREATE CONNECTOR as text with the values of its properties masked."""
    properties = tuple(map(_masked, statement.properties))
    return format_statement(replace(statement, properties=properties))


def masked_sql(script: str) -> str:
    """Return a script with the values of its CREATE CONNECTOR statements masked.

    >>> masked_sql("CREATE SINK CONNECTOR `c` WITH ('connector.class'='X', 'password'='p');")
    "CREATE SINK CONNECTOR `c` WITH ('connector.class' = 'X', 'password' = '[string]');"
    """
    if not is_about_new_connector(script):
        return script
    try:
        return "\n".join(f"{_masked_piece(piece.text)};" for piece in split_statements(script))
    except SqlError:
        # A statement that does not parse may contain secrets, too.
        return with_values(script, _masked_value)


def is_about_new_connector(script: str) -> bool:
    """Return whether a script creates a connector, whose properties may all be secret."""
    return _CONNECTOR.search(script) is not None


def blotted(script: str) -> str:
    """Return a script of the same length with stars instead of secrets.

    Lines and columns stay the same, so that an error can point into it.
    """
    if not is_about_new_connector(script):
        return script
    return with_values(script, _blotted_value)


def _masked_piece(text: str) -> str:
    statement = parse_statement(text) if is_about_new_connector(text) else None
    return masked_connector(statement) if isinstance(statement, CreateConnector) else text


def _masked(property_: Property) -> Property:
    if property_.name in OPEN:
        return property_
    return replace(property_, value=StringLiteral(MASK))


def _masked_value(found: Assignment) -> str:
    return MASK if found.is_quoted and found.name not in OPEN else found.value


def _blotted_value(found: Assignment) -> str:
    if not found.is_quoted or shown(found.name, found.value) == found.value:
        return found.value
    return "".join("\n" if letter == "\n" else "*" for letter in found.value)
