"""Queries that compute each row from one record of one topic: no state, no topology.

``SELECT`` with ``WHERE`` and expressions over one stream or table is such a query. A server
answers it straight from the records; any other query goes through its topology.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.model.record import ConsumerRecord, Headers
from penstock.sql.ast.expressions import Expression
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.sources import header_value, timestamp_extractor
from penstock.sql.planner.plan import QueryPlan, steps_of
from penstock.sql.planner.steps import FilterStep, ProjectStep, SourceStep
from penstock.sql.queries.push import key_places

Condition = Callable[[Row], bool]


class SourceRows:
    """Turn the records of a topic into the rows of its stream or table.

    A row has the columns of the source step of a query: value, headers, pseudo columns, key and
    the bounds of the window.
    """

    def __init__(self, source: DataSource, lowering: Lowering) -> None:
        self.source = source
        self.topic = source.topic
        self.key_serde = lowering.topic_key_serde(source)
        self.value_serde = lowering.topic_value_serde(source)
        self._headers = tuple(column.header for column in source.schema.headers)
        self._is_windowed = source.window is not None
        self._no_key = (None,) * len(source.schema.key)
        self._extract = timestamp_extractor(source, lowering)

    def key(self, data: bytes | None) -> Any:
        """Return a key: a tuple, or a ``Windowed`` of one."""
        return self.key_serde.deserialize(self.topic, data)

    def row(
        self,
        partition: int,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
    ) -> Row | None:
        """Return the row of a record; None if it has no value, or no time where it needs one.

        Raises:
            Exception: what the formats raise if the bytes cannot be read.
        """
        values = self.value_serde.deserialize(self.topic, value)
        if values is None:
            return None
        found = self.key_serde.deserialize(self.topic, key)
        if self._extract is not None:
            record = ConsumerRecord(
                self.topic, partition, offset, timestamp, found, values, headers
            )
            timestamp = self._extract(record, -1)
            if timestamp < 0:
                return None
        bounds: tuple[int, ...] = ()
        if self._is_windowed:
            if found is None:
                return None
            bounds = (found.window.start, found.window.end)
            found = found.key
        return (
            *values,
            *[header_value(headers, name) for name in self._headers],
            timestamp,
            partition,
            offset,
            *(self._no_key if found is None else found),
            *bounds,
        )


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The functions of a query for one row: whether to keep it, and the result row."""

    plan: QueryPlan
    step: SourceStep
    conditions: tuple[Expression, ...]
    rows: SourceRows
    #: Whether WHERE holds for a row; None if there is no WHERE.
    holds: Condition | None
    values: Callable[[Row], Row]

    @property
    def source(self) -> DataSource:
        return self.rows.source

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        return self.plan.columns

    def deleted(self, key: bytes | None) -> Row:
        """Return what is left of a deleted row of a table: its key, with NULL for the rest."""
        found = self.rows.key(key)
        if found is not None and self.source.window is not None:
            found = (*(found.key or ()), found.window.start, found.window.end)
        places = key_places(self.plan.step)
        return tuple(None if place is None or not found else found[place] for place in places)


def row_plan(plan: QueryPlan, lowering: Lowering) -> RowPlan | None:
    """Return the plan of a query that needs no state; None if it needs a topology.

    A table with WHERE needs state: when a row no longer passes, its deletion must be sent.
    """
    first, *between = steps_of(plan.step)
    if not between or not isinstance(first, SourceStep):
        return None
    *filters, last = between
    if not isinstance(last, ProjectStep) or not all(isinstance(s, FilterStep) for s in filters):
        return None
    if first.is_table and (filters or first.source.ttl_ms is not None):
        return None
    conditions = tuple(step.condition for step in filters if isinstance(step, FilterStep))
    tests = [lowering.condition(condition, first.columns).one for condition in conditions]
    return RowPlan(
        plan,
        first,
        conditions,
        SourceRows(first.source, lowering),
        _all_of(tests),
        lowering.values(last.expressions, first.columns).one,
    )


def _all_of(tests: list[Condition]) -> Condition | None:
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda row: all(test(row) for test in tests)
