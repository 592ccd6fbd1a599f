"""ON with several conditions: some equalities are the join key, the rest applies to joined rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.chains import chain
from penstock.sql.ast.expressions import (
    And,
    Case,
    ColumnRef,
    Comparison,
    Expression,
    IsNull,
    When,
)
from penstock.sql.ast.queries import Join
from penstock.sql.ast.walk import walk
from penstock.sql.expressions import compile_condition
from penstock.sql.planner.clauses.clock import refuse_clock
from penstock.sql.planner.filters import filtered
from penstock.sql.planner.joining.join_sides import Sides, is_key, is_key_column, pair_of
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import ProjectStep, shape_of
from penstock.sql.syntax.format_expression import format_expression


@dataclass(frozen=True, slots=True)
class _Equality:
    """One equality of ON, with its expression for each side."""

    place: int
    left: Expression
    right: Expression


def split_condition(node: Join, left: Stage, right: Stage) -> tuple[Sides, Expression | None]:
    """Return the sides with the equalities of the join key, and the rest of the condition.

    before: A JOIN B ON A.V > B.V AND A.X = B.X AND A.Y = B.Y, where B has the key (X, Y)
    after:  A JOIN B ON (A.X, A.Y) = (B.X, B.Y), with A.V > B.V for the joined rows

    The key of the right side is preferred: it needs no repartitioning, and a table can be joined
    only by its key.
    """
    if not isinstance(node.on, And):
        left_on, right_on = pair_of(node.on, left, right)
        return Sides(node, left, right, (left_on,), (right_on,)), None
    parts = parts_of(node.on)
    equalities = [
        _Equality(place, *pair)
        for place, part in enumerate(parts)
        if (pair := sides_of(part, left, right)) is not None
    ]
    chosen = _chosen(node, equalities, left, right)
    if not chosen:
        # The error is about the first condition.
        pair_of(parts[0], left, right)
    used = {each.place for each in chosen}
    others = [part for place, part in enumerate(parts) if place not in used]
    sides = Sides(node, left, right, tuple(e.left for e in chosen), tuple(e.right for e in chosen))
    if not others:
        return sides, None
    _check_kind(node, right)
    return sides, reduce(lambda a, b: And(a, b, span=a.span), others)


def _chosen(node: Join, equalities: list[_Equality], left: Stage, right: Stage) -> list[_Equality]:
    by_right = _of_key([(each, each.right) for each in equalities], right, left)
    by_left = _of_key([(each, each.left) for each in equalities], left, left)
    are_streams = not left.step.is_table and not right.step.is_table
    if are_streams and node.kind != "INNER":
        # Every condition decides which rows match, so all of them must be in the key.
        whole = [found for found in (by_right, by_left) if len(found) == len(equalities)]
        return whole[0] if whole else equalities
    if len(right.key_refs) > 1 and by_right:
        return by_right
    if are_streams and len(left.key_refs) > 1 and by_left:
        return by_left
    return [_best(equalities, left, right)] if equalities else []


def _of_key(
    candidates: list[tuple[_Equality, Expression]], stage: Stage, left: Stage
) -> list[_Equality]:
    """Return an equality for each column of a stage's key; none if a column has none."""
    found: list[_Equality] = []
    for place in range(len(stage.key_refs)):
        fitting = [each for each, on in candidates if is_key_column(on, place, stage)]
        if not fitting:
            return []
        found.append(max(fitting, key=lambda each: _is_left_key(each, place, left)))
    return found


def _is_left_key(equality: _Equality, place: int, left: Stage) -> bool:
    return place < len(left.key_refs) and is_key_column(equality.left, place, left)


def _best(equalities: list[_Equality], left: Stage, right: Stage) -> _Equality:
    def rank(each: _Equality) -> tuple[int, int]:
        return 2 * is_key((each.right,), right) + is_key((each.left,), left), -each.place

    return max(equalities, key=rank)


def without_nulls(sides: Sides, environment: Environment) -> Sides:
    """Filter out rows of one side whose key contains a NULL: NULL is equal to nothing.

    A key of one column that is NULL has no bytes, and operators know it. One of several has bytes,
    which would be equal to others. The side that is left out of the result without a partner is
    filtered, so that no row is lost. A FULL JOIN has no such side.
    """
    if len(sides.left_on) == 1 or sides.node.kind == "FULL":
        return sides
    expressions = sides.right_on if sides.node.kind == "LEFT" else sides.left_on
    nulls: list[Expression] = [IsNull(each, negated=True) for each in expressions]
    known = reduce(And, nulls)
    if sides.node.kind == "LEFT":
        return replace(sides, right=filtered(sides.right, known, environment))
    return replace(sides, left=filtered(sides.left, known, environment))


def parts_of(on: Expression) -> list[Expression]:
    """Return the conditions that AND puts together."""
    if not isinstance(on, And):
        return [on]
    return [part for each in chain(on) for part in parts_of(each)]


def sides_of(part: Expression, left: Stage, right: Stage) -> tuple[Expression, Expression] | None:
    """Return the two sides of an equality, the left one first; None if it is something else."""
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
        f"a {node.kind} JOIN of these sources takes equalities only, this one has other conditions:"
        f" {format_expression(node.on)}",
        fix="use INNER JOIN, or LEFT JOIN with a table",
        span=node.on.span,
    )


def with_condition(
    stage: Stage, rest: Expression | None, node: Join, right: Stage, environment: Environment
) -> Stage:
    """Apply what is left of the condition to the joined rows.

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
