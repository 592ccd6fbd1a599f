"""SHOW, DESCRIBE and EXPLAIN, as data."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.model.secrets import shown
from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast import administration as admin
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.ksql_settings import application_id
from penstock.sql.planner.plan import QueryPlan, steps_of
from penstock.sql.results import TableResult
from penstock.sql.statements.explaining import explained_step, topic_of, warnings_of
from penstock.sql.statements.property_rows import property_rows
from penstock.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Listing:
    """Answers questions about a catalog; changes nothing."""

    catalog: Catalog
    functions: FunctionRegistry
    settings: Mapping[str, str]

    def answer(self, statement: Any, sql: str) -> TableResult:
        match statement:
            case admin.Show(what):
                return self._show(statement, what, sql)
            case admin.DescribeSource(name, is_extended):
                return self._described(self.catalog.source(name, statement.span), is_extended, sql)
            case admin.DescribeAll(what, is_extended):
                return self._sources(what, sql, is_extended=is_extended)
            case admin.DescribeFunction(name):
                return self._function(name.upper(), sql)
            case _:
                raise AnalysisError("not-supported", "this cannot be listed", span=statement.span)

    def _show(self, statement: admin.Show, what: str, sql: str) -> TableResult:
        match what:
            case "STREAMS" | "TABLES":
                return self._sources(what, sql, is_extended=statement.is_extended)
            case "QUERIES":
                return self._queries(sql)
            case "TYPES":
                rows = [(name, str(type_)) for name, type_ in sorted(self.catalog.types.items())]
                return _table("types", sql, ("name", "type"), rows)
            case "FUNCTIONS":
                return self._functions(sql)
            case "VARIABLES":
                return _table("variables", sql, ("name", "value"), self.catalog.variables.items())
            case "PROPERTIES":
                columns = ("name", "value", "given")
                return _table("properties", sql, columns, property_rows(self.settings))
            case "TOPICS" | "ALL TOPICS":
                topics = sorted(self.catalog.topics.items())
                return _table("topics", sql, ("name", "partitions"), topics)
            case _:
                raise AnalysisError("not-supported", f"{what} cannot be listed")

    def _sources(self, what: str, sql: str, *, is_extended: bool) -> TableResult:
        kind = what.removesuffix("S")
        rows: list[tuple[Any, ...]] = []
        for s in (each for each in self.catalog.sources.values() if each.kind == kind):
            formats = (s.key_format.name, s.value_format.name)
            row = (s.name, s.topic, *formats, s.window is not None)
            rows.append((*row, *self._more_about(s)) if is_extended else row)
        columns: tuple[str, ...] = ("name", "topic", "key_format", "value_format", "windowed")
        if is_extended:
            columns = (*columns, "columns", "written_by", "read_by", "sql")
        return _table(what.lower(), sql, columns, rows)

    def _more_about(self, source: DataSource) -> tuple[str, str, str, str]:
        writers = ", ".join(query.id for query in self.catalog.queries_writing(source.name))
        readers = ", ".join(query.id for query in self.catalog.queries_reading(source.name))
        columns = source.schema.describe(is_table=source.is_table)
        return columns, writers, readers, source.sql

    def _queries(self, sql: str) -> TableResult:
        rows = [
            (q.id, "PERSISTENT", q.state, q.sink, ", ".join(q.sources), q.sql)
            for q in self.catalog.queries.values()
        ]
        return _table("queries", sql, ("id", "type", "state", "sink", "sources", "sql"), rows)

    def queries_extended(self, topologies: Mapping[str, Topology], sql: str) -> TableResult:
        """Return what SHOW QUERIES EXTENDED tells of each query, and how its topology looks."""
        rows = [(*row, *self._more_of(row[0])) for row in self._queries(sql).rows]
        columns = (
            *("id", "type", "state", "sink", "sources", "sql"),
            *("application_id", "reads", "writes", "columns", "settings"),
        )
        texts = [f"{name}\n{topology.describe()}" for name, topology in topologies.items()]
        return _table("queries", sql, columns, rows, {"topology": "\n".join(texts)})

    def _more_of(self, query_id: str) -> tuple[str, str, str, str, str]:
        plan = self.catalog.queries[query_id].plan
        sink = plan.sink
        return (
            application_id(self.settings, query_id),
            ", ".join(source.topic for source in plan.sources),
            "" if sink is None else sink.topic,
            "" if sink is None else sink.schema.describe(is_table=sink.is_table),
            ", ".join(f"{name}={shown(name, value)}" for name, value in plan.settings),
        )

    def _functions(self, sql: str) -> TableResult:
        kinds = (
            ("SCALAR", self.functions.scalars),
            ("TABLE", self.functions.tables),
            ("AGGREGATE", self.functions.aggregates),
        )
        rows = sorted((name, kind) for kind, functions in kinds for name in functions)
        return _table("functions", sql, ("name", "type"), rows)

    def _function(self, name: str, sql: str) -> TableResult:
        for kind, functions in (
            ("SCALAR", self.functions.scalars),
            ("TABLE", self.functions.tables),
            ("AGGREGATE", self.functions.aggregates),
        ):
            found: Any = functions.get(name)
            if found is not None:
                rows = [(f"{name}{overload.signature}",) for overload in found.overloads]
                details = {"name": name, "type": kind, "description": found.description}
                return _table("function", sql, ("signature",), rows, details)
        raise self.functions.unknown(name)

    def _described(self, source: DataSource, is_extended: bool, sql: str) -> TableResult:
        rows = [(c.name, str(c.type), _role(c, source)) for c in source.schema.columns]
        details: dict[str, Any] = {
            "name": source.name,
            "type": source.kind,
            "topic": source.topic,
            "key_format": source.key_format.name,
            "value_format": source.value_format.name,
        }
        if is_extended:
            details |= self._extended(source)
        return _table("description", sql, ("column", "type", "role"), rows, details)

    def _extended(self, source: DataSource) -> dict[str, Any]:
        """Return what EXTENDED adds: the topic, time and windows, and every query around it."""
        writers = self.catalog.queries_writing(source.name)
        readers = self.catalog.queries_reading(source.name)
        timestamp, window = source.timestamp, source.window
        return {
            "sql": source.sql,
            "partitions": self.catalog.topics.get(source.topic),
            "timestamp": None if timestamp is None else timestamp.name,
            "timestamp_format": None if timestamp is None else timestamp.format,
            "window": None if window is None else window.kind,
            "window_size_ms": None if window is None else window.size_ms,
            "row_ttl_ms": source.ttl_ms,
            "read_by": [query.id for query in readers],
            "written_by": [query.id for query in writers],
            "queries": [f"{q.id} ({q.state}): {q.sql}" for q in (*writers, *readers)],
        }

    def explained(self, plan: QueryPlan, topology: Topology, sql: str) -> TableResult:
        """Return the steps of a plan, the topology they become, and how its parts run."""
        rows = [explained_step(step) for step in steps_of(plan.step)]
        config = StreamsConfig({APPLICATION_ID.name: plan.id})
        # What would run the query is asked, and loaded only for that.
        module: Any = importlib.import_module("penstock.runtime.local.column_forms")
        details = {
            "query_id": plan.id,
            "writes": None if plan.sink is None else topic_of(plan.sink),
            "runs": [str(form) for form in module.column_forms(topology, config)],
            "warnings": list(warnings_of(plan.step)),
            "topology": str(topology.describe()),
        }
        return _table("explanation", sql, ("step", "kind", "does", "columns"), rows, details)


def _role(column: SourceColumn, source: DataSource) -> str:
    if column.namespace == "KEY":
        return "PRIMARY KEY" if source.is_table else "KEY"
    return "" if column.namespace == "VALUE" else "HEADERS"


def _table(
    kind: str, sql: str, columns: tuple[str, ...], rows: Any, details: dict[str, Any] | None = None
) -> TableResult:
    return TableResult(
        kind, sql, columns=columns, rows=tuple(tuple(row) for row in rows), details=details or {}
    )
