"""CREATE OR REPLACE: what a running query may become without losing its state."""

from __future__ import annotations

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.statements import CreateAsSelect, CreateSource
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import PSEUDO_COLUMNS
from penstock.sql.planner.plan import QueryPlan, columns_used, steps_of
from penstock.sql.planner.steps import (
    AggregateStep,
    DistinctStep,
    FilterStep,
    ForeignKeyJoinStep,
    JoinStep,
    OverStep,
    ProjectStep,
    RekeyStep,
    SourceStep,
    Step,
)


def check_upgrade(
    statement: CreateAsSelect, old: DataSource, old_plan: QueryPlan | None, new_plan: QueryPlan
) -> None:
    """Refuses a change that the state or the output of the running query would not survive.

    Filters may come, go and change, and columns may be added at the end; sources, keys, joins,
    windows and aggregates stay.
    """
    new = new_plan.sink
    assert new is not None
    reason = _schema_change(old, new)
    if reason is None and old_plan is not None:
        reason = _plan_change(old_plan.step, new_plan.step) or _new_pseudo_column(
            old_plan.step, new_plan.step
        )
    if reason is not None:
        raise _refusal(statement, old, reason)


def check_redefinition(
    statement: CreateSource, old: DataSource, new: DataSource, *, is_made_by_query: bool
) -> None:
    """Refuses a new definition that the queries over the old one could not read on with.

    Columns may be added at the end; everything else stays.
    """
    reason = "a query makes it" if is_made_by_query else _schema_change(old, new)
    if reason is None and old.timestamp != new.timestamp:
        reason = "its TIMESTAMP column changes"
    if reason is not None:
        raise _refusal(statement, old, reason)


def _refusal(
    statement: CreateAsSelect | CreateSource, old: DataSource, reason: str
) -> AnalysisError:
    return AnalysisError(
        "cannot-upgrade",
        f"{statement.name} cannot be replaced: {reason}",
        fix=f"DROP {old.kind} {statement.name} and create it anew",
        span=statement.span,
    )


def _schema_change(old: DataSource, new: DataSource) -> str | None:
    if old.kind != new.kind:
        return f"it is a {old.kind}"
    if [(c.name, c.type) for c in old.schema.key] != [(c.name, c.type) for c in new.schema.key]:
        return f"its key changes from {_shown(old)} to {_shown(new)}"
    before = [(c.name, c.type) for c in old.schema.value]
    after = [(c.name, c.type) for c in new.schema.value]
    if after[: len(before)] != before:
        return "its columns change; columns can only be added at the end"
    if (old.topic, old.key_format, old.window) != (new.topic, new.key_format, new.window):
        return "its topic, key format or window changes"
    if old.value_format.name != new.value_format.name:
        return f"its value format changes from {old.value_format.name} to {new.value_format.name}"
    return None


def _shown(source: DataSource) -> str:
    return ", ".join(f"{c.name} {c.type}" for c in source.schema.key)


def _plan_change(old: Step, new: Step) -> str | None:
    before, after = _lasting(old), _lasting(new)
    if [type(step) for step in before] != [type(step) for step in after]:
        return "the shape of its query changes"
    for was, becomes in zip(before, after, strict=True):
        reason = _step_change(was, becomes)
        if reason is not None:
            return reason
    return None


def _new_pseudo_column(old: Step, new: Step) -> str | None:
    """Rows are kept without the pseudo columns that nobody asks for: they are lost for later."""
    keeps_rows = any(
        isinstance(step, JoinStep | ForeignKeyJoinStep)
        or (isinstance(step, SourceStep) and step.is_table)
        for step in steps_of(new)
    )
    names = {name for name, _ in PSEUDO_COLUMNS}
    added = {ref.name for ref in columns_used(new) - columns_used(old)} & names
    if keeps_rows and added:
        return f"it starts to use {', '.join(sorted(added))}, which rows kept so far do not have"
    return None


def _lasting(step: Step) -> list[Step]:
    return [each for each in steps_of(step) if not isinstance(each, FilterStep | ProjectStep)]


def _step_change(old: Step, new: Step) -> str | None:
    match old, new:
        case SourceStep(), SourceStep():
            if (old.source.name, old.source.topic) != (new.source.name, new.source.topic):
                return f"its source changes from {old.source.name} to {new.source.name}"
        case AggregateStep(), AggregateStep():
            if (old.group_by, old.window_clause) != (new.group_by, new.window_clause):
                return "its GROUP BY or WINDOW changes"
            if old.calls != new.calls:
                return "its aggregate functions change"
        case RekeyStep(), RekeyStep():
            if old.expressions != new.expressions:
                return "the key of its records changes"
        case JoinStep(), JoinStep():
            if (old.kind, old.within) != (new.kind, new.within):
                return "its join changes"
        case ForeignKeyJoinStep(), ForeignKeyJoinStep():
            if (old.kind, old.foreign_key) != (new.kind, new.foreign_key):
                return "its join changes"
        case _:
            return _memory_change(old, new)
    return None


def _memory_change(old: Step, new: Step) -> str | None:
    """Compare steps whose processors remember rows."""
    match old, new:
        case OverStep(), OverStep():
            same_rows = (old.partition_by, old.by_time) == (new.partition_by, new.by_time)
            if not same_rows or old.calls != new.calls:
                return "what it computes OVER other rows changes"
        case DistinctStep(), DistinctStep():
            if (old.columns, old.ttl_ms) != (new.columns, new.ttl_ms):
                return "the rows that DISTINCT compares change, or for how long"
        case _:
            pass
    return None
