"""Pull queries: ``SELECT`` without EMIT, answered once from the present rows.

A pull query is the push query of the same text, run in this process over the present rows of
tables, whose result is then sorted.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import ArrayType, MapType, StructType
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.ast.expressions import ColumnRef, Exists, Expression, InQuery, Over
from penstock.sql.ast.queries import OrderItem, Query, SelectColumn, Source
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.planner.subqueries import inlined
from penstock.sql.python_values import row_converter
from penstock.sql.queries.push import PushQuery, Row, page, refuse_cut
from penstock.topology.topology import Topology

_ORDER = "KSQL_ORDER_"

#: Returns all records of a topic, oldest first.
ReadTopic = Callable[[str], Iterable[ProducedRecord]]


def as_push_query(query: Query) -> Query:
    """Return the push query with the rows of the pull query, followed by its sort keys.

    before: SELECT A FROM T ORDER BY B DESC LIMIT 3
    after:  SELECT A, B AS KSQL_ORDER_0 FROM T EMIT CHANGES
    """
    _refuse_over(query)
    if query.union_all:
        _check_union(query)
        return replace(query, order_by=(), limit=None, offset=None, emit="CHANGES", cut=None)
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
        offset=None,
        emit="CHANGES",
        cut=None,
    )


def _refuse_over(query: Query) -> None:
    over = next((node for node in walk(query) if isinstance(node, Over)), None)
    if over is not None:
        raise AnalysisError(
            "pull-over",
            "OVER is for streams, whose rows have an order; a SELECT without EMIT reads a table",
            fix="use ORDER BY and LIMIT, or add EMIT CHANGES",
            span=over.span,
        )


def _check_union(query: Query) -> None:
    if any(each.is_distinct for each in (query, *query.union_all)):
        raise AnalysisError(
            "not-supported",
            "DISTINCT cannot be used in UNION ALL of a query that is answered once",
            fix="leave DISTINCT out",
            span=query.span,
        )
    for item in query.order_by:
        if not isinstance(item.expression, ColumnRef) or item.expression.source is not None:
            raise AnalysisError(
                "union-order",
                "ORDER BY behind UNION ALL takes names of columns of the first SELECT",
                fix="give the expression a name with AS in every SELECT",
                span=item.span,
            )


def _meant(expression: Expression, aliases: dict[str | None, Expression]) -> Expression:
    """Replace a name in ORDER BY by the expression of that name in SELECT, if there is one."""
    if isinstance(expression, ColumnRef) and expression.source is None:
        return aliases.get(expression.name, expression)
    return expression


def pulled_catalog(query: Query, catalog: Catalog) -> Catalog:
    """Return the catalog to plan with: a table that is read alone is a stream of its rows.

    Each row is read once, so every aggregate can be used. Joins still need tables.
    """
    found, query = catalog.copy(), inlined(query)
    if any(isinstance(node, InQuery | Exists) for node in walk(query)):
        # A row may be read before its partner, so both sides must be tables.
        return found
    for each in (query, *query.union_all):
        if isinstance(each.source, Source):
            if each.source.is_changes:
                raise AnalysisError(
                    "pull-changes",
                    "the changes of a table cannot be asked for once: only its last rows are kept",
                    fix="add EMIT CHANGES, or ask the table itself",
                    span=each.source.span,
                )
            source = found.source(each.source.name, each.source.span)
            found.sources[source.name] = replace(source, kind="STREAM")
    return found


@dataclass(frozen=True, slots=True)
class PullQuery:
    """A planned pull query; ``rows`` answers it."""

    query: Query
    push: PushQuery
    #: The topics of tables; only the last record of a key is read.
    table_topics: frozenset[str]
    #: The time to live of rows, for tables whose rows expire.
    ttls: tuple[tuple[str, int], ...] = ()
    #: The tables among the sources, by name.
    tables: frozenset[str] = frozenset()

    @staticmethod
    def of(query: Query, plan: QueryPlan, topology: Topology, catalog: Catalog) -> PullQuery:
        push = PushQuery(plan, topology)
        names = _order_names(query)
        _check_names(query, names, push.columns)
        for column in push.columns:
            is_sorted = column.name in names
            if is_sorted and isinstance(column.type, ArrayType | MapType | StructType):
                raise AnalysisError(
                    "not-sortable",
                    f"rows cannot be sorted by a {column.type}",
                    fix="sort by one of its elements",
                    span=query.order_by[0].span,
                )
        sources = [source.name for source in plan.sources]
        found = (catalog.sources[name] for name in sources if name in catalog.sources)
        tables = [source for source in found if source.is_table]
        ttls = tuple((table.topic, table.ttl_ms) for table in tables if table.ttl_ms is not None)
        topics = frozenset(table.topic for table in tables)
        return PullQuery(query, push, topics, ttls, frozenset(table.name for table in tables))

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        return tuple(c for c in self.push.columns if not c.name.startswith(_ORDER))

    def rows(self, read: ReadTopic) -> list[Row]:
        """Answer the query from the records of its topics; dates are those of ``datetime``.

        Raises:
            AnalysisError: ``as-of-cut``: only a server has cuts.
        """
        refuse_cut(self.query.cut)
        return [*map(row_converter(self.columns), self.finished(self.results(read)))]

    def finished(self, found: Iterable[Row]) -> list[Row]:
        """Sort rows and choose those that DISTINCT, OFFSET and LIMIT leave.

        Args:
            found: rows of the push query, with the values that ORDER BY needs.
        """
        found = list(found)
        order = zip(_order_names(self.query), self.query.order_by, strict=True)
        for name, item in reversed(list(order)):
            _sort(found, name, item)
        names = [column.name for column in self.columns]
        rows: Iterable[Row] = ({name: row[name] for name in names} for row in found)
        if self.query.is_distinct:
            rows = _distinct(rows)
        return list(page(rows, self.query.offset or 0, self.query.limit))

    def results(self, read: ReadTopic) -> Iterator[Row]:
        """Run the push query over the records of its topics and return its rows, unsorted."""
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
        ttl_ms = dict(self.ttls).get(topic)
        if ttl_ms is not None:
            records = _alive(list(records), ttl_ms)
        return _latest(records) if topic in self.table_topics else records


def _order_names(query: Query) -> list[str]:
    """Return the columns of the push query that rows are sorted by."""
    if query.union_all:
        return [e.name for e in (i.expression for i in query.order_by) if isinstance(e, ColumnRef)]
    return [f"{_ORDER}{place}" for place in range(len(query.order_by))]


def _check_names(query: Query, names: list[str], columns: tuple[SourceColumn, ...]) -> None:
    known = [column.name for column in columns]
    for name, item in zip(names, query.order_by, strict=True):
        if name not in known:
            raise AnalysisError(
                "unknown-column",
                f"ORDER BY {name}: the first SELECT of UNION ALL has no such column",
                fix=f"columns are {', '.join(known)}",
                span=item.span,
            )


def _latest(records: Iterable[ProducedRecord]) -> list[ProducedRecord]:
    """Return the last record of each key, without deleted keys."""
    found: dict[bytes | None, ProducedRecord] = {}
    for record in records:
        found.pop(record.key, None)
        if record.value is not None:
            found[record.key] = record
    return list(found.values())


def _alive(records: list[ProducedRecord], ttl_ms: int) -> Iterator[ProducedRecord]:
    """Replace rows by tombstones if stream time has reached the end of their time to live."""
    now: dict[int, int] = {}
    for record in records:
        now[record.partition] = max(record.timestamp, now.get(record.partition, 0))
    for record in records:
        is_over = record.timestamp + ttl_ms <= now[record.partition]
        yield record._replace(value=None) if is_over else record


def _sort(rows: list[Row], name: str, item: OrderItem) -> None:
    known = [row for row in rows if row[name] is not None]
    nulls = [row for row in rows if row[name] is None]
    known.sort(key=lambda row: row[name], reverse=item.is_descending)
    rows[:] = [*nulls, *known] if item.puts_nulls_first else [*known, *nulls]


def _distinct(rows: Iterable[Row]) -> Iterator[Row]:
    seen: set[str] = set()
    for row in rows:
        text = repr(row)
        if text not in seen:
            seen.add(text)
            yield row
