"""CURRENT_TIMESTAMP, CURRENT_DATE and CURRENT_TIME: calls that may be written without brackets."""

from __future__ import annotations

from penstock.sql.ast.expressions import ColumnRef, FunctionCall
from penstock.sql.ast.node import Node
from penstock.sql.ast.walk import rewrite, walk

CURRENT = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"))
#: The same as CURRENT_TIMESTAMP, always with brackets.
_CLOCK = CURRENT | {"NOW", "PROCTIME"}


def current_value(ref: ColumnRef) -> FunctionCall | None:
    """Return the call for a name such as CURRENT_DATE; None for any other name."""
    if ref.source is None and ref.name in CURRENT:
        return FunctionCall(ref.name, span=ref.span)
    return None


def with_current_values(node: Node) -> Node:
    """Replace names such as CURRENT_DATE by calls, in an expression without columns."""
    return rewrite(node, lambda n: current_value(n) if isinstance(n, ColumnRef) else None)


def clock_call(node: Node) -> FunctionCall | None:
    """Return the first call in an expression whose value changes with the clock."""
    calls = (n for n in walk(node) if isinstance(n, FunctionCall) and n.name in _CLOCK)
    return next(calls, None)
