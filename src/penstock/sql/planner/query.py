"""The passes in order: from a parsed query to its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.expressions import FunctionCall
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query, Source
from penstock.sql.ast.statements import CreateAsSelect, InsertInto
from penstock.sql.catalog.catalog import Catalog, DataSource, FormatSpec
from penstock.sql.catalog.properties import (
    CREATE_AS_PROPERTIES,
    WithProperties,
    read_properties,
)
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.planner.analysis import Analysis, analyze
from penstock.sql.planner.clauses.clock import refuse_clock
from penstock.sql.planner.clauses.distinct import distinct_groups, distinct_rows
from penstock.sql.planner.clauses.over import numbered
from penstock.sql.planner.clauses.retiming import retimed
from penstock.sql.planner.clauses.semi_joins import semi_joined
from penstock.sql.planner.clauses.top_rows import with_limits
from penstock.sql.planner.clauses.union import common_columns, united
from penstock.sql.planner.clauses.window_functions import WindowRules, windowed_by_function
from penstock.sql.planner.filters import filtered
from penstock.sql.planner.grouping import GroupFormats, grouped
from penstock.sql.planner.insertion import check_insertion, insertion_target
from penstock.sql.planner.joining.joins import joined
from penstock.sql.planner.key_order import ordered_key
from penstock.sql.planner.partitioning import partitioned
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.planner.projection import Projected, expanded, is_hidden_key, projected
from penstock.sql.planner.sink import DEFAULT_KEY_FORMAT, sink_of
from penstock.sql.planner.stage import Environment
from penstock.sql.planner.steps import DistinctStep
from penstock.sql.planner.subqueries import Derived, derived_source, inlined, with_names
from penstock.sql.planner.table_functions import exploded


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requirements of CREATE ... AS: whether the result is a table, and its time to live."""

    is_table: bool = False
    ttl_ms: int | None = None


_ANYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans queries over a catalog; ``settings`` are those in force for the statement."""

    catalog: Catalog
    functions: FunctionRegistry
    settings: Mapping[str, str]

    def create_as(self, statement: CreateAsSelect, query_id: str) -> QueryPlan:
        """Plan CREATE ... AS SELECT, with the stream or table it makes as sink."""
        properties = read_properties(statement.properties, CREATE_AS_PROPERTIES)
        wanted = Wanted(is_table=statement.kind == "TABLE", ttl_ms=properties.ttl_ms())
        analysis, result = self._planned(statement.query, is_persistent=True, wanted=wanted)
        _check_ttl(properties, result)
        self._check_kind(statement, result)
        sink = sink_of(statement, analysis, result, self.settings)
        return self._plan(query_id, result, sink)

    def insert_into(self, statement: InsertInto, query_id: str) -> QueryPlan:
        """Plan INSERT INTO ... SELECT, with an existing stream as sink."""
        sink = insertion_target(statement, self.catalog)
        target = (*sink.schema.key, *sink.schema.value)
        _, result = self._planned(statement.query, is_persistent=True, target=target)
        check_insertion(statement, sink, result)
        return self._plan(query_id, result, sink)

    def select(self, query: Query, query_id: str) -> QueryPlan:
        """Plan SELECT ... EMIT CHANGES, whose rows go to the client."""
        _, result = self._planned(query, is_persistent=False)
        plan = self._plan(query_id, result, None)
        return replace(plan, limit=query.limit, offset=query.offset or 0, cut=query.cut)

    def _planned(
        self,
        query: Query,
        *,
        is_persistent: bool,
        target: tuple[SourceColumn, ...] = (),
        prefix: str = "",
        wanted: Wanted = _ANYTHING,
        is_inner: bool = False,
    ) -> tuple[Analysis, Projected]:
        if is_persistent:
            _refuse_cut(query, is_inner=is_inner)
        query = inlined(query)
        if query.union_all:
            return self._united(query, is_persistent, target, prefix)
        rules = WindowRules(self._is_aggregate, needs_key=is_persistent and not is_inner)
        query = windowed_by_function(with_limits(with_names(query)), rules)
        _refuse_unsupported(query)
        environment = Environment(
            self.functions, self.catalog.types, self.settings, self.catalog.topics, prefix
        )
        inner = partial(self._derived, prefix=prefix)
        analysis = analyze(query, self.catalog, inner, is_persistent=is_persistent)
        query = analysis.query
        _check_clauses(analysis)
        stage = joined(analysis, environment)
        stage, where = semi_joined(stage, analysis, environment, inner, self._source)
        stage = filtered(stage, where, environment)
        stage = partitioned(stage, query.partition_by, environment)
        query = expanded(stage, query, analysis, environment)
        query = distinct_groups(stage, query, wants_table=wanted.is_table)
        stage, query = exploded(stage, query, environment)
        formats = self._formats(analysis)
        stage, query = numbered(stage, query, environment, formats.key)
        stage = retimed(stage, query, environment)
        stage, query = grouped(stage, query, environment, formats, is_persistent=is_persistent)
        if is_persistent:
            stage = ordered_key(stage, query, environment)
        result = projected(stage, query, analysis, environment, target, is_inner=is_inner)
        has_key = is_persistent and not any(is_hidden_key(column) for column in result.columns)
        return analysis, distinct_rows(
            result, query, has_key=has_key, ttl_ms=wanted.ttl_ms, prefix=prefix
        )

    def _is_aggregate(self, node: Node) -> bool:
        return isinstance(node, FunctionCall) and self.functions.is_aggregate(node.name)

    def _source(self, node: Source) -> DataSource:
        return self.catalog.source(node.name, node.span)

    def _united(
        self, query: Query, is_persistent: bool, target: tuple[SourceColumn, ...], prefix: str
    ) -> tuple[Analysis, Projected]:
        """Plan the queries of UNION ALL; plan them again if their types have to be widened."""
        queries = (replace(query, union_all=()), *query.union_all)

        def plan_all(wanted: tuple[SourceColumn, ...]) -> list[tuple[Analysis, Projected]]:
            return [
                self._planned(
                    each,
                    is_persistent=is_persistent,
                    target=wanted,
                    prefix=f"{prefix}Union{place}-",
                )
                for place, each in enumerate(queries)
            ]

        planned = plan_all(target)
        columns = common_columns([result for _, result in planned], queries)
        planned = plan_all(tuple(columns))
        return planned[0][0], united([result for _, result in planned], queries, prefix)

    def _derived(self, query: Query, alias: str, *, prefix: str) -> Derived:
        """Plan an inner query, with its key among its columns."""
        analysis, result = self._planned(
            query, is_persistent=True, prefix=f"{prefix}{alias}-", is_inner=True
        )
        refuse_clock(analysis.query.items, result.stage, "an inner query")
        source = derived_source(result, alias, analysis.first.value_format)
        return Derived(result, source)

    def _formats(self, analysis: Analysis) -> GroupFormats:
        """Return the formats of groups: the first source's, or the default if it has no key."""
        key = analysis.first.key_format
        if key.name == "NONE":
            key = FormatSpec(self.settings.get(DEFAULT_KEY_FORMAT, "KAFKA"))
        return GroupFormats(key, analysis.first.value_format)

    def _plan(self, query_id: str, result: Projected, sink: DataSource | None) -> QueryPlan:
        settings = tuple(sorted((name, str(value)) for name, value in self.settings.items()))
        return QueryPlan(
            query_id, result.stage.step, result.columns, sink,
            settings=settings, own_settings=frozenset(self.catalog.properties),
        )  # fmt: skip

    def _check_kind(self, statement: CreateAsSelect, result: Projected) -> None:
        is_table = result.stage.step.is_table
        if is_table == (statement.kind == "TABLE"):
            return
        made = "TABLE" if is_table else "STREAM"
        raise AnalysisError(
            "wrong-kind",
            f"the query returns a {made}, not a {statement.kind}",
            fix=f"write CREATE {made} {statement.name} AS ...",
            span=statement.span,
        )


def _refuse_unsupported(query: Query) -> None:
    refused: tuple[tuple[bool, str, str, Node], ...] = (
        (bool(query.order_by), "ORDER BY", "sort where the rows are read", query),
    )
    for is_used, what, fix, node in refused:
        if is_used:
            raise AnalysisError(
                "not-supported",
                f"{what} is not possible in a query that never ends",
                fix=fix,
                span=node.span,
            )


def _refuse_cut(query: Query, *, is_inner: bool) -> None:
    if query.cut is None:
        return
    if is_inner:
        raise AnalysisError(
            "as-of-cut",
            "AS OF CUT stands in an inner query, but a cut holds for the whole statement",
            fix="write it at the end of the outer query",
            span=query.cut.span,
        )
    raise AnalysisError(
        "as-of-cut",
        "a query that fills a stream or table never ends, and a cut is one moment",
        fix="leave AS OF CUT out here, and ask for a cut in the SELECT that reads the result",
        span=query.cut.span,
    )


def _check_ttl(properties: WithProperties, result: Projected) -> None:
    if properties.ttl_ms() is not None and not isinstance(result.stage.step, DistinctStep):
        raise properties.bad(
            "ROW_TTL",
            "ROW_TTL of a query says how long SELECT DISTINCT remembers a row of a stream",
            fix="give ROW_TTL to the table that the query reads, or use WINDOW",
        )


def _check_clauses(analysis: Analysis) -> None:
    query = analysis.query
    if query.group_by is not None and query.partition_by is not None:
        raise AnalysisError(
            "group-and-partition",
            "GROUP BY and PARTITION BY cannot be used together",
            fix="PARTITION BY in a query of its own first",
            span=query.span,
        )
    if query.emit == "FINAL" and (query.group_by is None or query.window is None):
        raise AnalysisError(
            "emit-final",
            "EMIT FINAL needs a windowed aggregation: WINDOW and GROUP BY",
            fix="use EMIT CHANGES",
            span=query.span,
        )
    for word, count in (("LIMIT", query.limit), ("OFFSET", query.offset)):
        if count is not None and analysis.is_persistent:
            raise AnalysisError(
                "limit",
                f"a query that fills a stream or table never ends, so it has no {word}",
                fix=f"leave {word} out",
                span=query.span,
            )
    _refuse_kafka_values(analysis)


def _refuse_kafka_values(analysis: Analysis) -> None:
    limited = [a.alias for a in analysis.sources if a.source.value_format.name == "KAFKA"]
    clause = "JOIN" if analysis.is_join else "GROUP BY"
    if limited and (analysis.is_join or analysis.query.group_by is not None):
        raise AnalysisError(
            "kafka-format",
            f"{', '.join(limited)} has VALUE_FORMAT KAFKA, which cannot be used with {clause}:"
            " its rows hold one column only",
            fix="CREATE a stream in another format from it and use that",
            span=analysis.query.span,
        )
