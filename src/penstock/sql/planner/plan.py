"""A planned query: its steps, what it reads and where its rows go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.sql.ast.expressions import ColumnRef, Expression, FunctionCall
from penstock.sql.ast.queries import Cut
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.steps import (
    AggregateStep,
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
)


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The last step, the columns of the result, and the sink of a persistent query.

    ``columns`` has key columns, too, in the order of the SELECT; a push query ends after ``limit``
    rows.
    ``replaces`` marks CREATE OR REPLACE, ``is_insert`` INSERT INTO, and ``is_named`` an id that
    the user chose.
    """

    id: str
    step: Step
    columns: tuple[SourceColumn, ...]
    sink: DataSource | None
    limit: int | None = None
    #: How many rows a push query skips before the first one that it returns.
    offset: int = 0
    #: The cut of all queries that a server answers from.
    cut: Cut | None = None
    #: The settings at the creation of the query, with later changes of ALTER SYSTEM.
    settings: tuple[tuple[str, str], ...] = ()
    #: The settings that SET changed for this query; ALTER SYSTEM does not override them.
    own_settings: frozenset[str] = frozenset()
    sql: str = ""
    replaces: bool = False
    is_insert: bool = False
    is_named: bool = False

    @property
    def sources(self) -> tuple[DataSource, ...]:
        return tuple(step.source for step in steps_of(self.step) if isinstance(step, SourceStep))


def inputs(step: Step) -> tuple[Step, ...]:
    """Return the direct inputs of a step."""
    if isinstance(step, JoinStep | ForeignKeyJoinStep):
        return step.left, step.right
    if isinstance(step, UnionStep):
        return step.inputs
    return () if isinstance(step, SourceStep) else (step.input,)  # type: ignore[attr-defined]


def steps_of(step: Step) -> Iterator[Step]:
    """Yield a step and all steps before it, sources first."""
    for before in inputs(step):
        yield from steps_of(before)
    yield step


def columns_used(step: Step) -> frozenset[ColumnRef]:
    """Return the columns that the expressions of a step and of those before it refer to."""
    return frozenset(
        node
        for each in steps_of(step)
        for expression in expressions_of(each)
        for node in walk(expression)
        if isinstance(node, ColumnRef)
    )


def calls_of(step: Step) -> Iterator[FunctionCall]:
    """Yield the function calls in the expressions of a step and of all steps before it."""
    for each in steps_of(step):
        for expression in expressions_of(each):
            yield from (node for node in walk(expression) if isinstance(node, FunctionCall))


def expressions_of(step: Step) -> tuple[Expression, ...]:
    """Return the expressions of one step."""
    match step:
        case FilterStep():
            return (step.condition,)
        case TopStep():
            return (*step.partition_by, *(item.expression for item in step.order_by))
        case RetimeStep():
            return (step.time,)
        case RekeyStep() | ProjectStep():
            return step.expressions
        case ExplodeStep():
            return step.calls
        case AggregateStep():
            return (*step.group_by, *step.calls)
        case OverStep():
            parts = (each for call in step.calls for each in (call.value, call.default))
            return (*step.partition_by, *step.key_refs, *(each for each in parts if each))
        case ForeignKeyJoinStep():
            return step.foreign_key
        case _:
            return ()
