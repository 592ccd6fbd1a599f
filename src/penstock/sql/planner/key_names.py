"""The names of key columns in the serialized keys: equal keys must have equal bytes."""

from __future__ import annotations

from dataclasses import replace

from penstock.sql.catalog.catalog import FormatSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.stage import Stage
from penstock.sql.planner.steps import (
    AggregateStep,
    DistinctStep,
    ForeignKeyJoinStep,
    JoinStep,
    OverStep,
    RekeyStep,
    SourceStep,
    Step,
    UnionStep,
    UnwindowStep,
    shape_of,
)

Names = tuple[str, ...]


def rewritten(stage: Stage, key_format: FormatSpec, name: str) -> Stage:
    """Return the stage with its key serialized again, in another format."""
    step = RekeyStep(
        name=name,
        input=stage.step,
        expressions=tuple(stage.key_refs),
        is_forced=True,
        **shape_of(stage.step, key_format=key_format),
    )
    return replace(stage, step=step)


def with_equal_names(left: Stage, right: Stage, prefix: str) -> tuple[Stage, Stage]:
    """Return both sides of a join with keys of the same names.

    Most formats write the names of a key that has several columns, and the bytes of a key decide
    its partition. If the join repartitions a side anyway, that side takes the names of the other.
    Otherwise one side is repartitioned, preferably a stream.
    """
    if _is_free(right):
        key = _with_names(left.step.key, written_names(left.step) or _names(left.step.key))
        return left, replace(right, step=replace(right.step, key=key))
    if len(left.step.key) == 1 or right.step.key_format.name == "DELIMITED":
        return left, right
    ours, theirs = written_names(left.step), written_names(right.step)
    assert theirs is not None
    if ours == theirs:
        return left, right
    if not _is_free(left) and left.step.is_table:
        right = rewritten(right, right.step.key_format, f"{prefix}RightSourceKeyed")
        key = _with_names(right.step.key, ours or theirs)
        return left, replace(right, step=replace(right.step, key=key))
    if not _is_free(left):
        left = rewritten(left, left.step.key_format, f"{prefix}LeftSourceKeyed")
    key = _with_names(left.step.key, theirs)
    return replace(left, step=replace(left.step, key=key)), right


def written_names(step: Step) -> Names | None:
    """Return the names that the records of a step were written with.

    None means that the next operator writes them, with its own names.
    """
    match step:
        case SourceStep():
            return _names(step.key)
        case RekeyStep(is_table=False) | DistinctStep() | UnionStep():
            return None
        case OverStep(keeps_key=False):
            return None
        case RekeyStep() | UnwindowStep():
            return _names(step.key)
        case AggregateStep():
            before = written_names(step.input) if step.keeps_key else None
            return before or _names(step.key)
        case JoinStep() | ForeignKeyJoinStep():
            return written_names(step.left) or _names(step.left.key)
        case _:
            return written_names(step.input)  # type: ignore[attr-defined]


def _is_free(stage: Stage) -> bool:
    return isinstance(stage.step, RekeyStep) or written_names(stage.step) is None


def _names(key: tuple[SourceColumn, ...]) -> Names:
    return tuple(column.name for column in key)


def _with_names(key: tuple[SourceColumn, ...], names: Names) -> tuple[SourceColumn, ...]:
    return tuple(replace(c, name=name) for c, name in zip(key, names, strict=True))
