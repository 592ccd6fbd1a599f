"""CURRENT_TIMESTAMP and its kin: calls that may be written without brackets."""

from __future__ import annotations

from penstock.sql.ast.expressions import ColumnRef, FunctionCall
from penstock.sql.ast.node import Node
from penstock.sql.ast.walk import rewrite, walk

CURRENT = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"))


def current_value(ref: ColumnRef) -> FunctionCall | None:
    """Return the call that a name without a column stands for, None for any other name."""
    if ref.source is None and ref.name in CURRENT:
        return FunctionCall(ref.name, span=ref.span)
    return None


def with_current_values(node: Node) -> Node:
    """Replace the names in an expression that has no columns at all."""
    return rewrite(node, lambda n: current_value(n) if isinstance(n, ColumnRef) else None)


def clock_call(node: Node) -> FunctionCall | None:
    """Return the first call in an expression whose value changes with the clock."""
    calls = (n for n in walk(node) if isinstance(n, FunctionCall) and n.name in CURRENT)
    return next(calls, None)
