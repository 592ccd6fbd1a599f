"""Descriptions of the steps of a plan, for EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import PSEUDO_COLUMNS
from penstock.sql.expressions import Column
from penstock.sql.planner.plan import steps_of
from penstock.sql.planner.steps import (
    AggregateStep,
    ChangesStep,
    DerivedStep,
    DistinctStep,
    ExplodeStep,
    FilterStep,
    ForeignKeyJoinStep,
    JoinStep,
    OverStep,
    ProjectStep,
    RekeyStep,
    RetimeStep,
    SourceStep,
    Step,
    TopStep,
    UnionStep,
    UnwindowStep,
)
from penstock.sql.syntax.format_expression import format_expression, format_order_item, identifier
from penstock.sql.syntax.format_query import format_window, format_within

_PSEUDO = frozenset(name for name, _ in PSEUDO_COLUMNS)


def explained_step(step: Step) -> tuple[str, str, str, str]:
    """Return a step's name, its kind, what it does, and the columns that leave it."""
    return step.name, type(step).__name__.removesuffix("Step"), _what(step), _columns(step)


def warnings_of(step: Step) -> tuple[str, ...]:
    """Return what a user should know of a plan before it runs, each text once."""
    found = (w for each in steps_of(step) if isinstance(each, AggregateStep) for w in each.warnings)
    return tuple(dict.fromkeys(found))


def _what(step: Step) -> str:
    match step:
        case SourceStep(source=source):
            return topic_of(source)
        case ChangesStep(input=source):
            return f"the changes of {identifier(source.source.name)}"
        case DerivedStep():
            return "the rows of an inner query"
        case FilterStep(clause=clause, condition=condition):
            return f"{clause} {format_expression(condition)}"
        case RekeyStep():
            return _new_key(step)
        case RetimeStep(time=time):
            return f"each row at the time {format_expression(time)}"
        case ExplodeStep():
            return _named(step.calls, step.columns[-len(step.calls) :])
        case AggregateStep():
            return _aggregation(step)
        case ProjectStep():
            return f"SELECT {_named(step.expressions, step.columns)}"
        case _:
            return _over_several_rows(step)


def _over_several_rows(step: Step) -> str:
    match step:
        case JoinStep(kind=kind, within=within):
            span = f" WITHIN {format_within(within)}" if within else ""
            return f"{kind} JOIN ON equal keys{span}"
        case ForeignKeyJoinStep(kind=kind, foreign_key=foreign_key):
            return f"{kind} JOIN ON {_listed(foreign_key)} = key of the right side"
        case DistinctStep(ttl_ms=ttl_ms):
            return "DISTINCT" if ttl_ms is None else f"DISTINCT, remembered for {ttl_ms} ms"
        case OverStep(calls=calls, partition_by=partition_by):
            names = ", ".join(call.name for call in calls)
            return f"{names} OVER (PARTITION BY {_listed(partition_by)})"
        case TopStep(at_most=at_most, partition_by=partition_by, order_by=order_by):
            order = ", ".join(map(format_order_item, order_by))
            return f"the first {at_most} rows of each {_listed(partition_by)}, ordered by {order}"
        case UnwindowStep(bounds=bounds):
            return f"{' and '.join(bounds)} of the windows as a part of the key"
        case UnionStep(inputs=inputs):
            return f"UNION ALL of {len(inputs)} queries"
        case _:
            raise AssertionError(f"{type(step).__name__} has no words")


def topic_of(source: DataSource) -> str:
    """Return a stream or table with the topic that it is read from or written to."""
    key, value = source.key_format.name, source.value_format.name
    return (
        f"{source.kind} {identifier(source.name)}, topic {source.topic!r}, {key} key, {value} value"
    )


def _new_key(step: RekeyStep) -> str:
    if step.is_forced:
        return f"the same key, as {step.key_format.name}"
    return f"PARTITION BY {_listed(step.expressions) or 'NULL'}"


def _aggregation(step: AggregateStep) -> str:
    results = step.columns[len(step.key) :]
    parts = [f"{_named(step.calls, results)} GROUP BY {_listed(step.group_by)}"]
    if step.window_clause is not None:
        parts.append(f"WINDOW {format_window(step.window_clause)}")
    if step.is_final:
        parts.append("EMIT FINAL")
    if not step.keeps_key and not step.input.is_table:
        parts.append("through a repartition topic")
    return " ".join(parts)


def _named(expressions: Sequence[Expression], columns: Sequence[Column]) -> str:
    """Expressions with the names of their columns, which may be followed by others."""
    return ", ".join(
        identifier(column.name)
        if isinstance(expression, ColumnRef) and expression.name == column.name
        else f"{format_expression(expression)} AS {identifier(column.name)}"
        for expression, column in zip(expressions, columns[: len(expressions)], strict=True)
    )


def _listed(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(format_expression, expressions))


def _columns(step: Step) -> str:
    """Every source has pseudo columns; they would hide the others."""
    shown = (column for column in step.columns if column.name not in _PSEUDO)
    return ", ".join(f"{column.name} {column.type}" for column in shown)
