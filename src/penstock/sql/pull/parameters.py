"""Literals of WHERE as parameters, so that all statements of a shape share one compiled condition.

A literal becomes a column after those of the row, and its value is passed in with the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.model.sql.types import STRING
from penstock.sql.ast.chains import fold
from penstock.sql.ast.expressions import (
    And,
    Between,
    ColumnRef,
    Comparison,
    DecimalLiteral,
    DoubleLiteral,
    Expression,
    IntegerLiteral,
    StringLiteral,
)
from penstock.sql.ast.node import Node
from penstock.sql.ast.walk import rewrite
from penstock.sql.catalog.schema import ROWTIME, WINDOWEND, WINDOWSTART
from penstock.sql.expressions import Column
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.pull.shape import Literal

_LITERALS = (IntegerLiteral, DecimalLiteral, DoubleLiteral, StringLiteral)
#: Text that is compared with one of these is read as a time when the statement is planned.
_TIMES = frozenset((ROWTIME, WINDOWSTART, WINDOWEND))

#: Tells whether a row and the parameters fulfil the conditions.
Test = Callable[[Row, Sequence[Any]], bool]


class Parameters:
    """The literals of a statement by their place, and which of them may change."""

    def __init__(self, literals: Sequence[Literal]) -> None:
        self._literals = literals
        self._by_span: Mapping[tuple[int, int], int] = {
            (literal.start, literal.end): number for number, literal in enumerate(literals)
        }
        #: The numbers of the literals that a condition takes as parameters.
        self.used: set[int] = set()

    def number_of(self, expression: Expression) -> int | None:
        """Return the number of a literal; None if it is not a literal, or has a sign before it."""
        span = expression.span
        if not isinstance(expression, _LITERALS) or span is None:
            return None
        number = self._by_span.get((span.start, span.end))
        if number is None or self._literals[number].value != expression.value:
            return None
        return number

    def test(
        self, conditions: Sequence[Expression], columns: tuple[Column, ...], lowering: Lowering
    ) -> Test | None:
        """Compile conditions, which all must hold; None if there are none."""
        if not conditions:
            return None
        condition = fold(conditions, And)
        changed = rewrite(condition, self._change)
        numbers = sorted(self.used)
        if not numbers:
            plain = lowering.condition(condition, columns).one
            return lambda row, values: plain(row)
        added = tuple(Column(_name(n), self._literals[n].type) for n in numbers)
        test = lowering.condition(changed, (*columns, *added)).one
        return lambda row, values: test((*row, *[values[n] for n in numbers]))

    def _change(self, node: Node) -> Node | None:
        match node:
            case Comparison(left=left, right=right):
                return replace(node, left=self._taken(left, right), right=self._taken(right, left))
            case Between(value, low, high):
                return replace(node, low=self._taken(low, value), high=self._taken(high, value))
            case _:
                return None

    def _taken(self, expression: Expression, other: Expression) -> Expression:
        number = self.number_of(expression)
        if number is None or not isinstance(other, ColumnRef):
            return expression
        if self._literals[number].type == STRING and other.name in _TIMES:
            return expression
        self.used.add(number)
        return ColumnRef(_name(number), span=expression.span)


def _name(number: int) -> str:
    return f"KSQL_PARAMETER_{number}"
