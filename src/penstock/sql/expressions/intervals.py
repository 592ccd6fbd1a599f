"""INTERVAL: a length of time that is added to a date, time or timestamp, or subtracted from it."""

from __future__ import annotations

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import DATE, TIME, TIMESTAMP, SqlType
from penstock.sql.ast import expressions as ast
from penstock.sql.expressions.scope import Compiled, CompileNode, Scope
from penstock.sql.syntax.format_expression import format_expression

_FUNCTIONS: dict[SqlType, str] = {TIMESTAMP: "TIMESTAMP", DATE: "DATE", TIME: "TIME"}
_UNITS: dict[SqlType, tuple[str, ...]] = {
    DATE: ("DAYS", "MONTHS", "YEARS"),
    TIME: ("MILLISECONDS", "SECONDS", "MINUTES", "HOURS"),
}


def has_interval(node: ast.Binary) -> bool:
    """Return whether one side of an operator is an INTERVAL."""
    return isinstance(node.left, ast.IntervalLiteral) or isinstance(node.right, ast.IntervalLiteral)


def compile_interval_sum(node: ast.Binary, scope: Scope, compile_node: CompileNode) -> Compiled:
    """Compile ``moment + INTERVAL`` as a call of the function that does the same.

    before: S.AT - INTERVAL '5' MINUTES
    after:  TIMESTAMPSUB(MINUTES, 5, S.AT)
    """
    moment, interval = node.left, node.right
    if isinstance(moment, ast.IntervalLiteral) and node.operator == "+":
        moment, interval = interval, moment
    type_ = None
    if not isinstance(moment, ast.IntervalLiteral):
        type_ = compile_node(moment, scope).type
    if type_ not in _FUNCTIONS or node.operator not in ("+", "-"):
        raise SqlTypeError(
            "no-such-operation",
            f"an INTERVAL can be added to a DATE, TIME or TIMESTAMP, or subtracted from it:"
            f" {format_expression(node)}",
            fix="CAST the other side to TIMESTAMP",
            span=node.span,
        )
    assert isinstance(interval, ast.IntervalLiteral)
    _check_unit(interval, type_)
    name = f"{_FUNCTIONS[type_]}{'ADD' if node.operator == '+' else 'SUB'}"
    unit, count = ast.ColumnRef(interval.unit), ast.IntegerLiteral(interval.count)
    return compile_node(ast.FunctionCall(name, (unit, count, moment), span=node.span), scope)


def refuse_interval(node: ast.IntervalLiteral, _: Scope, __: CompileNode | None = None) -> Compiled:
    """Refuse an INTERVAL that stands alone: no column can hold one."""
    raise SqlTypeError(
        "misplaced-interval",
        f"{format_expression(node)} cannot stand alone: it is not a value of any column's type",
        fix="add it to a DATE, TIME or TIMESTAMP, or subtract it",
        span=node.span,
    )


def _check_unit(interval: ast.IntervalLiteral, type_: SqlType) -> None:
    units = _UNITS.get(type_)
    if units is None or interval.unit in units:
        return
    raise SqlTypeError(
        "bad-interval",
        f"a {type_} takes {', '.join(units)}, not {interval.unit}",
        fix="CAST it to TIMESTAMP" if type_ == DATE else "use a TIMESTAMP",
        span=interval.span,
    )
