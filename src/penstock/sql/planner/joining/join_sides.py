"""The two sides of a join, and checks of them. The join itself: ``joining.joins``."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.sql.ast.expressions import ColumnRef, Comparison, Expression
from penstock.sql.ast.queries import Join
from penstock.sql.ast.walk import walk
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.syntax.format_expression import format_expression


@dataclass(frozen=True, slots=True)
class Sides:
    """The two stages of a join with the expressions that must be equal."""

    node: Join
    left: Stage
    right: Stage
    left_on: tuple[Expression, ...]
    right_on: tuple[Expression, ...]

    @property
    def condition(self) -> str:
        pairs = zip(self.left_on, self.right_on, strict=True)
        return " AND ".join(f"{format_expression(a)} = {format_expression(b)}" for a, b in pairs)

    def refuse(self, code: str, message: str, fix: str | None = None) -> AnalysisError:
        return AnalysisError(code, message, fix, span=self.node.on.span)


def pair_of(on: Expression, left: Stage, right: Stage) -> tuple[Expression, Expression]:
    """Return the two sides of an equality, the left one first."""
    if not isinstance(on, Comparison) or on.operator != "=":
        raise AnalysisError(
            "join-condition",
            f"a join needs an equality, got {format_expression(on)}",
            fix="write ON left.column = right.column",
            span=on.span,
        )
    first, second = _alias_of(on.left, on), _alias_of(on.right, on)
    if first in left.aliases and second in right.aliases:
        return on.left, on.right
    if second in left.aliases and first in right.aliases:
        return on.right, on.left
    raise AnalysisError(
        "join-condition",
        f"the condition {format_expression(on)} must compare {right.aliases[0]} with"
        f" {' or '.join(left.aliases)}",
        fix="use a column of each side",
        span=on.span,
    )


def _alias_of(expression: Expression, on: Comparison) -> str:
    used = {node.source for node in walk(expression) if isinstance(node, ColumnRef)} - {None}
    if len(used) != 1:
        raise AnalysisError(
            "join-condition",
            f"{format_expression(expression)} must use columns of exactly one source",
            fix="write ON left.column = right.column",
            span=expression.span or on.span,
        )
    return str(used.pop())


def check_types(sides: Sides, environment: Environment) -> None:
    """Refuse expressions that can never be equal, because their types differ."""
    for left_on, right_on in zip(sides.left_on, sides.right_on, strict=True):
        left = environment.type_of(left_on, sides.left.columns)
        right = environment.type_of(right_on, sides.right.columns)
        shown = f"{format_expression(left_on)} = {format_expression(right_on)}"
        if left is None or right is None:
            raise sides.refuse("join-condition", f"{shown} compares with NULL")
        if left != right:
            raise SqlTypeError(
                "join-types",
                f"the two sides of {shown} have different types: {left} and {right}",
                fix="CAST one side to the type of the other",
                span=sides.node.on.span,
            )


def check_windows(sides: Sides) -> None:
    left, right = sides.left.step.window, sides.right.step.window
    if (left is None) != (right is None):
        raise sides.refuse(
            "join-windows",
            f"{sides.left.aliases[0]} and {sides.right.aliases[0]} cannot be joined:"
            " one has a windowed key, the other has not",
        )
    if left is None or right is None:
        return
    if (left.kind == "SESSION") != (right.kind == "SESSION") or left.size_ms != right.size_ms:
        raise sides.refuse(
            "join-windows",
            f"{sides.left.aliases[0]} has {left.kind} windows, {sides.right.aliases[0]} has"
            f" {right.kind} windows of another size: their keys are never equal",
        )


def check_kinds(sides: Sides) -> None:
    left, right, node = sides.left.step, sides.right.step, sides.node
    if left.is_table and not right.is_table:
        raise sides.refuse(
            "join-order",
            f"table {sides.left.aliases[0]} cannot be joined with stream {sides.right.aliases[0]}",
            fix="put the stream first: stream JOIN table",
        )
    if right.is_table and node.within is not None:
        raise sides.refuse(
            "join-within",
            "WITHIN is only for joins of two streams",
            fix="leave WITHIN out",
        )
    if not right.is_table and node.within is None:
        raise sides.refuse(
            "join-within",
            "a join of two streams needs WITHIN: how far apart may their records be?",
            fix="write JOIN ... WITHIN 1 HOUR ON ...",
        )
    if right.is_table and not is_key(sides.right_on, sides.right):
        raise sides.refuse(
            "join-on-non-key",
            f"a join with a table must use its primary key, {sides.condition} does not",
            fix=f"join on the primary key of {sides.right.aliases[0]}:"
            f" {', '.join(format_expression(ref) for ref in sides.right.key_refs)}",
        )
    if right.is_table and not left.is_table and node.kind in ("RIGHT", "FULL"):
        raise sides.refuse(
            "join-kind",
            f"a stream and a table cannot be joined by {node.kind} JOIN",
            fix="use INNER or LEFT JOIN",
        )


def is_key(expressions: tuple[Expression, ...], stage: Stage) -> bool:
    """Return whether expressions are the key of a stage, all of it and in its order."""
    if len(expressions) != len(stage.key_refs):
        return False
    return all(is_key_column(each, place, stage) for place, each in enumerate(expressions))


def is_key_column(expression: Expression, place: int, stage: Stage) -> bool:
    """Return whether an expression always has the value of one column of the key."""
    if expression == stage.key_refs[place]:
        return True
    return bool(stage.equivalent) and expression in stage.equivalent[place]


def check_partitions(sides: Sides, environment: Environment) -> None:
    left, right = (environment.partitions.get(s.topic) for s in (sides.left, sides.right))
    if left is not None and right is not None and left != right:
        raise sides.refuse(
            "co-partitioning",
            f"{sides.left.aliases[0]} ({left} partitions) and {sides.right.aliases[0]}"
            f" ({right} partitions) cannot be joined",
            fix="CREATE a copy of one of them with the PARTITIONS of the other and join that",
        )
