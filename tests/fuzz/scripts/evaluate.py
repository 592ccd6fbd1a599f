"""Values of expressions and aggregates for the model, each computed from all rows it is about."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tests.fuzz.scripts.language import Aggregate, Apply, Expression, Ref, Value

Row = dict[tuple[str, str], Any]


def evaluate(node: Expression, row: Row) -> Any:
    """Return an expression's value. A comparison with NULL is false, arithmetic with it NULL."""
    match node:
        case Ref(source, name):
            return row[source, name]
        case Value(value):
            return value
        case Apply(name, _, operands):
            return OPERATORS[name](*(evaluate(operand, row) for operand in operands))


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if None in values else function(*values)


def _compared(function: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda a, b: a is not None and b is not None and function(a, b)


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": _strict(lambda a, b: a + b),
    "-": _strict(lambda a, b: a - b),
    "*": _strict(lambda a, b: a * b),
    "%": _strict(lambda a, b: int(math.fmod(a, b))),
    # As in ksqlDB's CONCAT, NULL is an empty text.
    "||": lambda a, b: (a or "") + (b or ""),
    "UCASE": _strict(lambda a: a.upper()),
    "LEN": _strict(len),
    "=": _compared(lambda a, b: a == b),
    "<>": _compared(lambda a, b: a != b),
    "<": _compared(lambda a, b: a < b),
    ">=": _compared(lambda a, b: a >= b),
    "BETWEEN": lambda a, low, high: a is not None and low <= a <= high,
    "IN": lambda a, *items: a is not None and a in items,
    "IS NULL": lambda a: a is None,
    "IS NOT NULL": lambda a: a is not None,
    "AND": lambda a, b: a and b,
    "OR": lambda a, b: a or b,
    "NOT": lambda a: not a,
    "COALESCE": lambda *values: next((v for v in values if v is not None), None),
    "CASE": lambda condition, then, other: then if condition else other,
}


def folded(call: Aggregate, rows: list[Row]) -> Any:
    """Return what an aggregate function gives for all rows of a group, in their order."""
    if call.operand is None:
        return len(rows)
    every = [evaluate(call.operand, row) for row in rows]
    known = [value for value in every if value is not None]
    match call.name:
        case "COUNT":
            return len(known)
        case "SUM":
            return sum(known)
        case "MIN":
            return min(known, default=None)
        case "MAX":
            return max(known, default=None)
        case "COLLECT_LIST":
            return every
        case "LATEST_BY_OFFSET":
            return known[-1] if known else None
        case "EARLIEST_BY_OFFSET":
            return known[0] if known else None
        case _:
            raise AssertionError(call.name)
