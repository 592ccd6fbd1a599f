"""The shape of a statement: its text with a mark in place of each literal.

Statements of one shape share a prepared plan, so that a query that differs only in its key is not
parsed and planned again.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, NamedTuple

from penstock.model.java import MAX_INT
from penstock.model.sql.types import BIGINT, DOUBLE, INTEGER, STRING, SqlType
from penstock.sql.expressions.literals import decimal_type

# Quoted names and comments are matched so that nothing inside them is taken for a literal. Digits
# are a number only if they are not part of a word. A quote or comment that does not end takes the
# rest of the text, so that nothing is read twice.
_TOKEN = re.compile(
    r"""
    '(?:[^']|'')*+'
  | `(?:[^`]|``)*+` | "(?:[^"]|"")*+" | --[^\n]* | /\*.*?\*/ | \$\$.*?\$\$
  | (?P<open> (?: ['`"] | /\* | \$\$ ) .* )
  | (?<![\w@.]) (?: \d+(?:\.\d*)? | \.\d+ ) (?: [eE][+-]?\d+ )? (?![\w@.])
    """,
    re.VERBOSE | re.DOTALL,
)
_OTHERS = '`"-/$'
#: No type has numbers of more digits; the parser refuses them.
_LONGEST_NUMBER = 400


class Literal(NamedTuple):
    """A literal of a statement: its type, its value and its position."""

    type: SqlType
    value: Any
    start: int
    end: int


class Shape(NamedTuple):
    """The text that statements share if they differ only in their literals, and the literals."""

    text: str
    literals: tuple[Literal, ...]


def shape_of(sql: str) -> Shape | None:
    """Return the shape of a statement; None if it has variables, or cannot be valid.

    Literals of different types make different shapes: they are compared in different ways.

    >>> shape = shape_of("SELECT n FROM counts WHERE id = 'it''s' AND n > 5")
    >>> shape.text
    'SELECT n FROM counts WHERE id = ?STRING AND n > ?INTEGER'
    >>> [literal.value for literal in shape.literals]
    ["it's", 5]
    """
    if "${" in sql:
        return None
    parts: list[str] = []
    literals: list[Literal] = []
    last = 0
    for match in _TOKEN.finditer(sql):
        text = match[0]
        if match["open"] is not None:
            return None
        if text[0] in _OTHERS:
            continue
        if len(text) > _LONGEST_NUMBER and text[0] != "'":
            return None
        start, end = match.span()
        literal = _literal(text, start, end)
        literals.append(literal)
        parts += (sql[last:start], f"?{literal.type}")
        last = end
    parts.append(sql[last:])
    return Shape("".join(parts), tuple(literals))


def _literal(text: str, start: int, end: int) -> Literal:
    if text[0] == "'":
        return Literal(STRING, text[1:-1].replace("''", "'"), start, end)
    if text.isdigit():
        number = int(text)
        return Literal(INTEGER if number <= MAX_INT else BIGINT, number, start, end)
    if "e" in text or "E" in text:
        return Literal(DOUBLE, float(text), start, end)
    decimal = Decimal(text)
    return Literal(decimal_type(decimal), decimal, start, end)
