"""Pull queries: ``SELECT`` without EMIT, answered from what is there and then over.

A pull query is the push query of the same text, run in this process over the rows that tables have
at the moment, and sorted in the end.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import ArrayType, MapType, StructType
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.queries import OrderItem, Query, SelectColumn, Source
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.python_values import row_converter
from penstock.sql.queries.push import PushQuery, Row
from penstock.topology.topology import Topology

_ORDER = "KSQL_ORDER_"

#: Gives all records of a topic, oldest first.
ReadTopic = Callable[[str], Iterable[ProducedRecord]]


def as_push_query(query: Query) -> Query:
    """Gives the query whose rows are those of the pull query, with what it sorts by behind them.

    before: SELECT A FROM T ORDER BY B DESC LIMIT 3
    after:  SELECT A, B AS KSQL_ORDER_0 FROM T EMIT CHANGES
    """
    aliases = {i.alias: i.expression for i in query.items if isinstance(i, SelectColumn)}
    hidden = tuple(
        SelectColumn(_meant(item.expression, aliases), f"{_ORDER}{place}", span=item.span)
        for place, item in enumerate(query.order_by)
    )
    return replace(
        query,
        items=(*query.items, *hidden),
        order_by=(),
        is_distinct=False,
        limit=None,
        emit="CHANGES",
    )


def _meant(expression: Expression, aliases: dict[str | None, Expression]) -> Expression:
    """A name in ORDER BY means the column of the SELECT before that of the source."""
    if isinstance(expression, ColumnRef) and expression.source is None:
        return aliases.get(expression.name, expression)
    return expression


def pulled_catalog(query: Query, catalog: Catalog) -> Catalog:
    """Gives the catalog to plan with: a table that is read alone is a stream of its rows.

    Each row comes once, so every aggregate can take it. Joins need tables as they are.
    """
    found = catalog.copy()
    if isinstance(query.source, Source):
        source = found.source(query.source.name, query.source.span)
        found.sources[source.name] = replace(source, kind="STREAM")
    return found


@dataclass(frozen=True, slots=True)
class PullQuery:
    """A planned pull query; ``rows`` answers it."""

    query: Query
    push: PushQuery
    #: The topics of tables, of which only the last record of a key counts.
    table_topics: frozenset[str]

    @staticmethod
    def of(query: Query, plan: QueryPlan, topology: Topology, catalog: Catalog) -> PullQuery:
        push = PushQuery(plan, topology)
        for column in push.columns:
            is_sorted = column.name.startswith(_ORDER)
            if is_sorted and isinstance(column.type, ArrayType | MapType | StructType):
                raise AnalysisError(
                    "not-sortable",
                    f"rows cannot be sorted by a {column.type}",
                    fix="sort by one of its elements",
                    span=query.order_by[0].span,
                )
        names = [source.name for source in plan.sources]
        tables = (catalog.sources[name] for name in names if name in catalog.sources)
        return PullQuery(query, push, frozenset(t.topic for t in tables if t.is_table))

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        return tuple(c for c in self.push.columns if not c.name.startswith(_ORDER))

    def rows(self, read: ReadTopic) -> list[Row]:
        """Answer the query from the records of its topics; dates are those of ``datetime``."""
        found = list(self._results(read))
        for place, item in reversed(list(enumerate(self.query.order_by))):
            _sort(found, f"{_ORDER}{place}", item)
        names = [column.name for column in self.columns]
        rows: Iterable[Row] = ({name: row[name] for name in names} for row in found)
        if self.query.is_distinct:
            rows = _distinct(rows)
        return [*map(row_converter(self.columns), islice(rows, self.query.limit))]

    def _results(self, read: ReadTopic) -> Iterator[Row]:
        # Planning a query loads nothing that runs it.
        module: Any = importlib.import_module("penstock.sql.queries.local")
        local = module.LocalQuery(self.push.id, f"pull-{self.push.id}", self.push.topology)
        try:
            written = [
                record
                for topic in sorted({source.topic for source in self.push.plan.sources})
                for given in self._snapshot(topic, read)
                for record in local.pipe(*given[:5])
            ]
        finally:
            local.close()
        decode = self.push.reader()
        if self.push.plan.step.is_table:
            written = [record for record in _latest(written) if record.value is not None]
        return (decode(record.value) for record in written)

    def _snapshot(self, topic: str, read: ReadTopic) -> Iterable[ProducedRecord]:
        records = read(topic)
        return _latest(records) if topic in self.table_topics else records


def _latest(records: Iterable[ProducedRecord]) -> list[ProducedRecord]:
    """Keeps the last record of each key; a deleted key has none."""
    found: dict[bytes | None, ProducedRecord] = {}
    for record in records:
        found.pop(record.key, None)
        if record.value is not None:
            found[record.key] = record
    return list(found.values())


def _sort(rows: list[Row], name: str, item: OrderItem) -> None:
    nulls_first = item.is_descending if item.nulls_first is None else item.nulls_first
    known = [row for row in rows if row[name] is not None]
    nulls = [row for row in rows if row[name] is None]
    known.sort(key=lambda row: row[name], reverse=item.is_descending)
    rows[:] = [*nulls, *known] if nulls_first else [*known, *nulls]


def _distinct(rows: Iterable[Row]) -> Iterator[Row]:
    seen: set[str] = set()
    for row in rows:
        text = repr(row)
        if text not in seen:
            seen.add(text)
            yield row
