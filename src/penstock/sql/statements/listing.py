"""SHOW, DESCRIBE and EXPLAIN, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.model.sql.errors import AnalysisError
from penstock.runtime.local.column_forms import column_forms
from penstock.sql.ast import administration as admin
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.planner.plan import QueryPlan, steps_of
from penstock.sql.results import TableResult
from penstock.sql.statements.explaining import explained_step, topic_of
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
            case admin.DescribeAll(what):
                return self._sources(what, sql)
            case admin.DescribeFunction(name):
                return self._function(name.upper(), sql)
            case _:
                raise AnalysisError("not-supported", "this cannot be listed", span=statement.span)

    def _show(self, statement: admin.Show, what: str, sql: str) -> TableResult:
        match what:
            case "STREAMS" | "TABLES":
                return self._sources(what, sql)
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
                rows = [(name, str(value)) for name, value in sorted(self.settings.items())]
                return _table("properties", sql, ("name", "value"), rows)
            case "TOPICS" | "ALL TOPICS":
                topics = sorted(self.catalog.topics.items())
                return _table("topics", sql, ("name", "partitions"), topics)
            case _:
                raise AnalysisError(
                    "not-supported",
                    f"SHOW {what} needs Kafka Connect, which Penstock does not run",
                    span=statement.span,
                )

    def _sources(self, what: str, sql: str) -> TableResult:
        kind = what.removesuffix("S")
        rows = [
            (s.name, s.topic, s.key_format.name, s.value_format.name, s.window is not None)
            for s in self.catalog.sources.values()
            if s.kind == kind
        ]
        columns = ("name", "topic", "key_format", "value_format", "windowed")
        return _table(what.lower(), sql, columns, rows)

    def _queries(self, sql: str) -> TableResult:
        rows = [
            (q.id, "PERSISTENT", q.state, q.sink, ", ".join(q.sources), q.sql)
            for q in self.catalog.queries.values()
        ]
        return _table("queries", sql, ("id", "type", "state", "sink", "sources", "sql"), rows)

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
            details["sql"] = source.sql
            details["timestamp"] = None if source.timestamp is None else source.timestamp.name
            details["window"] = None if source.window is None else source.window.kind
            details["read_by"] = [q.id for q in self.catalog.queries_reading(source.name)]
            details["written_by"] = [q.id for q in self.catalog.queries_writing(source.name)]
        return _table("description", sql, ("column", "type", "role"), rows, details)

    def explained(self, plan: QueryPlan, topology: Topology, sql: str) -> TableResult:
        """Gives the steps of a plan, the topology they become, and how its parts run."""
        rows = [explained_step(step) for step in steps_of(plan.step)]
        config = StreamsConfig({APPLICATION_ID.name: plan.id})
        details = {
            "query_id": plan.id,
            "writes": None if plan.sink is None else topic_of(plan.sink),
            "runs": [str(form) for form in column_forms(topology, config)],
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
