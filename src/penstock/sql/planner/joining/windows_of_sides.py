"""Sides of a join whose keys are windowed: the window becomes a part of a plain key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from penstock.sql.ast.expressions import And, ColumnRef, Expression, FunctionCall
from penstock.sql.ast.queries import Join
from penstock.sql.catalog.catalog import WindowSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.joining.join_conditions import parts_of, sides_of
from penstock.sql.planner.stage import Stage
from penstock.sql.planner.steps import (
    AggregateStep,
    DerivedStep,
    FilterStep,
    ForeignKeyJoinStep,
    JoinStep,
    ProjectStep,
    SourceStep,
    Step,
    UnwindowStep,
    shape_of,
)

Bound = Literal["START", "END"]
_NAMES: dict[str, Bound] = {"WINDOWSTART": "START", "WINDOWEND": "END"}
#: Functions whose result is the window's bound again, as a timestamp or as a copy.
_SAME = ("FROM_UNIXTIME", "AS_VALUE")


@dataclass(frozen=True, slots=True)
class _Part:
    """One condition of ON; with its expression for each side if it is an equality of both."""

    whole: Expression
    left: Expression | None = None
    right: Expression | None = None


def with_plain_windows(node: Join, left: Stage, right: Stage, prefix: str) -> tuple[Join, Stage]:
    """Return the join and its right side, whose windows are plain columns where they have to be.

    before: A JOIN B ON A.X = B.K AND A.S = B.WINDOWSTART, where B has the windowed key K
    after:  A JOIN B ON (A.X, A.S) = key of B, where B has the key (K, WINDOWSTART)

    If both sides have the same windows and are joined by their keys, the windows are equal anyway,
    and conditions that say so are left out.
    """
    if right.step.window is None or not right.step.is_table:
        return node, right
    parts = [_part(part, left, right) for part in parts_of(node.on)]
    if _have_equal_windows(left.step.window, right.step.window) and _joins_keys(parts, left, right):
        kept = [part.whole for part in parts if not _compares_windows(part, left, right)]
        return replace(node, on=reduce(lambda a, b: And(a, b, span=a.span), kept)), right
    bounds = _bounds(parts, right)
    return node, right if bounds is None else _unwindowed(right, bounds, prefix)


def _part(whole: Expression, left: Stage, right: Stage) -> _Part:
    pair = sides_of(whole, left, right)
    return _Part(whole) if pair is None else _Part(whole, *pair)


def _have_equal_windows(left: WindowSpec | None, right: WindowSpec | None) -> bool:
    if left is None or right is None:
        return False
    return (left.kind == "SESSION") == (right.kind == "SESSION") and left.size_ms == right.size_ms


def _joins_keys(parts: list[_Part], left: Stage, right: Stage) -> bool:
    pairs = {(part.left, part.right) for part in parts}
    keys = zip(left.key_refs, right.key_refs, strict=False)
    return len(left.key_refs) == len(right.key_refs) and all(pair in pairs for pair in keys)


def _compares_windows(part: _Part, left: Stage, right: Stage) -> bool:
    bound = _bound(part.right, right.step)
    return bound is not None and bound == _bound(part.left, left.step)


def _bounds(parts: list[_Part], right: Stage) -> list[tuple[ColumnRef, Bound]] | None:
    """Return the columns that are compared and hold the window; None if they do not name it."""
    compared = [part.right for part in parts]
    if any(ref not in compared for ref in right.key_refs):
        return None
    found: dict[Bound, ColumnRef] = {}
    for expression in compared:
        bound = _bound(expression, right.step)
        if bound is not None and isinstance(expression, ColumnRef):
            found.setdefault(bound, expression)
    window = right.step.window
    assert window is not None
    if window.size_ms is None:
        # Two sessions of a key may begin at the same time, one after the other.
        return [(found[each], each) for each in ("START", "END")] if len(found) == 2 else None
    one: Bound = "START" if "START" in found else "END"
    return [(found[one], one)] if found else None


def _bound(expression: Expression | None, step: Step) -> Bound | None:
    """Return which bound of a step's windows an expression is, None if it is neither."""
    if isinstance(expression, FunctionCall) and expression.name in _SAME:
        (argument,) = expression.arguments
        return None if not isinstance(argument, ColumnRef) else _bound(argument, step)
    if not isinstance(expression, ColumnRef) or step.window is None:
        return None
    match step:
        case DerivedStep(input=ProjectStep() as inner):
            names = [column.name for column in inner.columns]
            if expression.name in names:
                return _bound(inner.expressions[names.index(expression.name)], inner.input)
            return _NAMES.get(expression.name)
        case SourceStep() | DerivedStep() | AggregateStep():
            return _NAMES.get(expression.name)
        case FilterStep(input=before):
            return _bound(expression, before)
        case JoinStep(left=left, right=right):
            sources = {column.source for column in left.columns}
            return _bound(expression, left if expression.source in sources else right)
        case ForeignKeyJoinStep(left=left):
            sources = {column.source for column in left.columns}
            return _bound(expression, left) if expression.source in sources else None
        case _:
            return None


def _unwindowed(stage: Stage, bounds: list[tuple[ColumnRef, Bound]], prefix: str) -> Stage:
    types = {ColumnRef(column.name, column.source): column.type for column in stage.columns}
    added = tuple(SourceColumn(ref.name, types[ref], "KEY") for ref, _ in bounds)
    shape = shape_of(stage.step)
    shape["key"] = (*stage.step.key, *added)
    shape["window"] = None
    step = UnwindowStep(
        name=f"{prefix}RightUnwindowed",
        input=stage.step,
        bounds=tuple(bound for _, bound in bounds),
        **shape,
    )
    refs = (*stage.key_refs, *(ref for ref, _ in bounds))
    return replace(stage, step=step, key_refs=refs, equivalent=(), viable=())
