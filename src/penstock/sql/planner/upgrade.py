"""CREATE OR REPLACE: what a running query may become without losing its state."""

from __future__ import annotations

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.statements import CreateAsSelect, CreateSource
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.planner.fingerprint import statement_of
from penstock.sql.planner.plan import QueryPlan
from penstock.topology.upgrades.comparison import Change, changes_between
from penstock.topology.upgrades.fingerprint import PlanFingerprint, Rule


def check_upgrade(
    statement: CreateAsSelect, old: DataSource, old_plan: QueryPlan | None, new_plan: QueryPlan
) -> None:
    """Refuse a change that does not fit the state or the output of the running query.

    Filters may come, go and change, and columns may be added at the end; sources, keys, joins,
    windows and aggregates stay. So does a filter over a table in front of a join or an aggregate:
    these remove old rows, and could not know which of them had passed the old filter.
    """
    new = new_plan.sink
    assert new is not None
    reason = _schema_change(old, new)
    if reason is None and old_plan is not None:
        reason = _state_change(old_plan, new_plan)
    if reason is not None:
        raise _refusal(statement, old, reason)


def check_redefinition(
    statement: CreateSource, old: DataSource, new: DataSource, *, is_made_by_query: bool
) -> None:
    """Refuse a new definition with which queries over the old one could not continue.

    Columns may be added at the end; everything else stays.
    """
    reason = "a query makes it" if is_made_by_query else _schema_change(old, new)
    if reason is None and old.timestamp != new.timestamp:
        reason = "its TIMESTAMP column changes"
    if reason is None and old.ttl_ms != new.ttl_ms:
        reason = "its ROW_TTL changes"
    if reason is not None:
        raise _refusal(statement, old, reason)


def _refusal(
    statement: CreateAsSelect | CreateSource, old: DataSource, reason: str
) -> AnalysisError:
    return AnalysisError(
        "cannot-upgrade",
        f"{statement.name} cannot be replaced: {reason}",
        fix=f"DROP {old.kind} {statement.name} and create it anew, or choose another name",
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


def _state_change(old: QueryPlan, new: QueryPlan) -> str | None:
    """Return why the state does not fit, by the same rules as for a restarted script."""
    before, after = (PlanFingerprint(statement_of(plan).sections) for plan in (old, new))
    changes = [c for c in changes_between(before, after) if c.rule is Rule.FIXED]
    return "; ".join(map(_told, changes)) or None


def _told(change: Change) -> str:
    old, new = ", ".join(change.removed), ", ".join(change.added)
    if not new:
        return f"{old} goes"
    return f"{old} becomes {new}" if old else f"{new} is added"
