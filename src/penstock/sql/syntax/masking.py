"""Masks secrets in statements, for logs, listings and error messages."""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.model.secrets import shown
from penstock.model.sql.errors import SqlError
from penstock.sql.ast.expressions import StringLiteral
from penstock.sql.ast.statements import CreateConnector, Property
from penstock.sql.syntax.format import format_statement
from penstock.sql.syntax.parser import parse_statement, split_statements

#: The text that ksqlDB shows instead of a value.
MASK = "[string]"
#: Properties of connectors that are never secret. Each connector has other properties of its own.
OPEN = frozenset({"connector.class"})
_CONNECTOR = re.compile(r"(?is)\bCREATE\s+(?:SOURCE|SINK)\s+CONNECTOR\b")
#: A quoted name, and a quoted value in which two quotes stand for one.
_PAIR = re.compile(r"""('[^']+'|"[^"]+"|`[^`]+`)(\s*=\s*)('(?:[^']|'')*')""")


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
        return _PAIR.sub(_masked_pair, script)


def is_about_new_connector(script: str) -> bool:
    """Return whether a script creates a connector, whose properties may all be secret."""
    return _CONNECTOR.search(script) is not None


def blotted(script: str) -> str:
    """Return a script of the same length with stars instead of secrets.

    Lines and columns stay the same, so that an error can point into it.
    """
    if not is_about_new_connector(script):
        return script
    return _PAIR.sub(_blotted_pair, script)


def _masked_piece(text: str) -> str:
    statement = parse_statement(text) if is_about_new_connector(text) else None
    return masked_connector(statement) if isinstance(statement, CreateConnector) else text


def _masked(property_: Property) -> Property:
    if property_.name in OPEN:
        return property_
    return replace(property_, value=StringLiteral(MASK))


def _masked_pair(found: re.Match[str]) -> str:
    name, between, value = found.groups()
    return f"{name}{between}" + (value if name[1:-1] in OPEN else f"'{MASK}'")


def _blotted_pair(found: re.Match[str]) -> str:
    name, between, value = found.groups()
    inner = value[1:-1]
    if shown(name[1:-1], inner) == inner:
        return found.group()
    stars = "".join("\n" if letter == "\n" else "*" for letter in inner)
    return f"{name}{between}'{stars}'"
