"""ON with several conditions: one equality joins, the others are about the joined rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.chains import chain
from penstock.sql.ast.expressions import And, Case, ColumnRef, Comparison, Expression, When
from penstock.sql.ast.queries import Join
from penstock.sql.ast.walk import walk
from penstock.sql.expressions import compile_condition
from penstock.sql.planner.clauses.clock import refuse_clock
from penstock.sql.planner.filters import filtered
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import ProjectStep, shape_of
from penstock.sql.syntax.format_expression import format_expression

IsKey = Callable[[Expression, Stage], bool]


def split_condition(
    node: Join, left: Stage, right: Stage, is_key: IsKey
) -> tuple[Join, Expression | None]:
    """Gives the join with the equality that serves it best, and what is left of the condition.

    before: A JOIN B ON A.V > B.V AND A.ID = B.ID
    after:  A JOIN B ON A.ID = B.ID, with A.V > B.V for the joined rows

    Keys on both sides are best: nothing has to be repartitioned, and tables have no other.
    """
    if not isinstance(node.on, And):
        return node, None
    parts = _parts(node.on)

    def rank(part: Expression) -> int:
        sides = _sides_of(part, left, right)
        if sides is None:
            return -1
        return 1 + 2 * is_key(sides[1], right) + is_key(sides[0], left)

    best = max(range(len(parts)), key=lambda place: (rank(parts[place]), -place))
    others = [part for place, part in enumerate(parts) if place != best]
    _check_kind(node, right)
    return replace(node, on=parts[best]), reduce(lambda a, b: And(a, b, span=a.span), others)


def _parts(on: And) -> list[Expression]:
    return [
        part for each in chain(on) for part in (_parts(each) if isinstance(each, And) else [each])
    ]


def _sides_of(part: Expression, left: Stage, right: Stage) -> tuple[Expression, Expression] | None:
    if not isinstance(part, Comparison) or part.operator != "=":
        return None
    for one, other in ((part.left, part.right), (part.right, part.left)):
        if _aliases(one) <= {*left.aliases} and _aliases(other) <= {*right.aliases}:
            return (one, other) if _aliases(one) and _aliases(other) else None
    return None


def _aliases(expression: Expression) -> set[str]:
    return {str(node.source) for node in walk(expression) if isinstance(node, ColumnRef)}


def _check_kind(node: Join, right: Stage) -> None:
    if node.kind == "INNER" or (node.kind == "LEFT" and right.step.is_table):
        return
    raise AnalysisError(
        "join-condition",
        f"a {node.kind} JOIN of these sources takes one equality, this one has several conditions:"
        f" {format_expression(node.on)}",
        fix="join on a STRUCT of the columns, or use INNER JOIN, or LEFT JOIN with a table",
        span=node.on.span,
    )


def with_condition(
    stage: Stage, rest: Expression | None, node: Join, right: Stage, environment: Environment
) -> Stage:
    """Applies what is left of the condition to the joined rows.

    After an INNER JOIN rows that do not fit are left out; after a LEFT JOIN they are rows
    without a partner, so the columns of the right side become NULL.
    """
    if rest is None:
        return stage
    if node.kind == "INNER":
        return filtered(stage, rest, environment)
    refuse_clock((rest,), stage, "ON")
    compile_condition(rest, environment.scope(stage.columns), "WHERE")
    refs = [ColumnRef(column.name, column.source) for column in stage.columns]
    step = ProjectStep(
        name=f"{stage.step.name}-Condition",
        input=stage.step,
        expressions=tuple(
            Case(None, (When(rest, ref),)) if ref.source in right.aliases else ref for ref in refs
        ),
        **shape_of(stage.step),
    )
    return replace(stage, step=step)
