"""The execution of one script: each statement changes a working copy of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from penstock.formats.rows import RowFormat
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.registry.registry import SchemaRegistry
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query
from penstock.sql.catalog.catalog import Catalog, DataSource, PersistentQuery
from penstock.sql.catalog.ddl import Definitions
from penstock.sql.catalog.ddl_changes import Changes
from penstock.sql.catalog.properties import INSERT_PROPERTIES, read_properties
from penstock.sql.catalog.schema_inference import (
    checked_rows,
    internal_rows,
    is_registered,
    registered_subjects,
)
from penstock.sql.connector_results import ConnectorStatement
from penstock.sql.format_errors import format_errors_as_sql
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.planner.cycles import refuse_cycle
from penstock.sql.planner.identity import insert_id_of, query_id_of, replaced_id_of
from penstock.sql.planner.lowering import topology_of
from penstock.sql.planner.lowering.context import Lowering
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.planner.query import Planner
from penstock.sql.planner.stage import Environment
from penstock.sql.planner.upgrade import check_upgrade
from penstock.sql.queries.access import GENERAL, ONLY_MATERIALIZED, STREAM, access_of, described
from penstock.sql.queries.pull import PullQuery, as_push_query, pulled_catalog
from penstock.sql.queries.push import PushQuery
from penstock.sql.queries.row_plan import row_plan
from penstock.sql.results import (
    DeletedTopic,
    OutgoingRecord,
    PrintResult,
    PullResult,
    StatementResult,
)
from penstock.sql.setting_names import layered
from penstock.sql.statements.assertions import (
    DEFAULT_TIMEOUT_MS,
    SCHEMA_TIMEOUT,
    TOPIC_TIMEOUT,
    Assertion,
    TopicShape,
    schema_assertion,
    topic_assertion,
)
from penstock.sql.statements.connectors import connector_request
from penstock.sql.statements.insert_values import record_of, tombstone_of
from penstock.sql.statements.listing import Listing
from penstock.sql.statements.python_functions import create_function, drop_function
from penstock.sql.statements.session import CATALOG_HANDLERS
from penstock.sql.syntax.format_query import format_query
from penstock.topology.topology import Topology

_NEVER_ENDS = (
    "the query never ends: read its rows with engine.query and local().subscribe or"
    " run_on_spark().select"
)


@dataclass(slots=True)
class Execution:
    """Runs statements against ``catalog``; the caller discards it if one of them is refused."""

    catalog: Catalog
    #: The built-in functions and those of the program. The catalog has those of CREATE FUNCTION.
    registered: FunctionRegistry
    registry: SchemaRegistry | None
    defaults: Mapping[str, str]
    #: Records to write and topics to delete once the whole script has been accepted, in this order.
    outgoing: list[OutgoingRecord | DeletedTopic] = field(default_factory=list)
    #: Returns the topics of the cluster; None if there is no cluster.
    look: Callable[[], Mapping[str, TopicShape]] | None = None
    #: Rows whose schemas are registered once the whole script has been accepted.
    schemas: list[RowFormat] = field(default_factory=list)
    #: The number at the end of the ids of new queries. If it is None, an id depends only on what
    #: its query writes and reads.
    number: int | None = None

    @property
    def settings(self) -> dict[str, str]:
        return layered(self.defaults, self.catalog.system, self.catalog.properties)

    @property
    def functions(self) -> FunctionRegistry:
        """All functions that statements can call, with the settings that they want."""
        return self._every_function.configured(self.settings)

    @property
    def _every_function(self) -> FunctionRegistry:
        if not self.catalog.functions:
            return self.registered
        everything = self.registered.copy()
        for function in self.catalog.functions.values():
            function.register(everything)
        return everything

    @format_errors_as_sql()
    def run(self, statement: ast.Statement, sql: str) -> StatementResult:
        """Run one statement; raise an AnalysisError if only a server can run it."""
        on_catalog = CATALOG_HANDLERS.get(type(statement))
        if on_catalog is not None:
            return on_catalog(self.catalog, statement, sql)
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            raise AnalysisError(
                "not-supported",
                f"{type(statement).__name__} cannot be run here",
                fix="run it in a server",
                span=statement.span,
            )
        result: StatementResult = handler(self, statement, sql)
        return result

    # Streams and tables

    def create_source(self, statement: ast.CreateSource, sql: str) -> StatementResult:
        source = self._definitions.create_source(statement, sql)
        if source is None:
            return _already(statement, sql)
        if self.registry is not None:
            rows = checked_rows(source, self.registry)
            self.schemas.extend(row for row in rows if not is_registered(row))
        what = statement.kind.lower()
        return StatementResult("create", sql, f"{what} {source.name} created", source=source.name)

    def create_as(self, statement: ast.CreateAsSelect, sql: str) -> StatementResult:
        definitions = self._definitions
        if definitions.exists(statement):
            return _already(statement, sql)
        old = self.catalog.sources.get(statement.name)
        query_id = self._id_of(statement)
        plan = self._planner.create_as(statement, query_id)
        assert plan.sink is not None
        sink = replace(plan.sink, sql=sql)
        plan = replace(plan, sink=sink, sql=sql, replaces=statement.or_replace)
        if old is not None:
            self._check_replacement(statement, old, plan)
        others = [query for name, query in self.catalog.queries.items() if name != query_id]
        refuse_cycle(plan, others, statement.span)
        if self.registry is not None:
            self.schemas.extend(checked_rows(sink, self.registry))
        topology = self.lowered(plan)
        self.schemas.extend(internal_rows(topology))
        self.catalog.sources[statement.name] = sink
        self.catalog.topics.setdefault(sink.topic, self._partitions(plan))
        self._add(plan, topology, sql)
        return StatementResult(
            "create-as", sql, f"created query {query_id}", query_id, statement.name
        )

    def insert_into(self, statement: ast.InsertInto, sql: str) -> StatementResult:
        properties = read_properties(statement.properties, INSERT_PROPERTIES)
        given = properties.name("QUERY_ID")
        if given in self.catalog.queries:
            raise AnalysisError(
                "query-exists", f"a query {given} exists already", span=statement.span
            )
        plan = self._planner.insert_into(statement, given or "")
        query_id = given or insert_id_of(plan, self.catalog.queries, self.number)
        is_named = given is not None
        plan = replace(plan, id=query_id, sql=sql, is_insert=True, is_named=is_named)
        refuse_cycle(plan, self.catalog.queries.values(), statement.span)
        topology = self.lowered(plan)
        self.schemas.extend(internal_rows(topology))
        self._add(plan, topology, sql)
        return StatementResult(
            "insert-into", sql, f"created query {query_id}", query_id, statement.name
        )

    def insert_values(self, statement: ast.InsertValues, sql: str) -> StatementResult:
        record = record_of(statement, self.catalog, self.functions, self.lowering("INSERT"))
        self.outgoing.append(record)
        return StatementResult("insert-values", sql, "1 row inserted", source=statement.name)

    def insert_rows(self, statement: ast.InsertRows, sql: str) -> StatementResult:
        for row in statement.rows:
            self.insert_values(row, sql)
        message = f"{len(statement.rows)} rows inserted"
        return StatementResult("insert-values", sql, message, source=statement.rows[0].name)

    def delete(self, statement: ast.DeleteFrom, sql: str) -> StatementResult:
        record = tombstone_of(statement, self.catalog, self.functions, self.lowering("DELETE"))
        self.outgoing.append(record)
        return StatementResult("delete", sql, "1 key deleted", source=statement.name)

    def drop(self, statement: ast.DropSource, sql: str) -> StatementResult:
        dropped = self._changes.drop(statement)
        if dropped is None:
            return StatementResult("drop", sql, f"{statement.name} does not exist")
        message = f"{dropped.name} dropped"
        if statement.delete_topic:
            self.catalog.topics.pop(dropped.topic, None)
            self.outgoing.append(DeletedTopic(dropped.topic, registered_subjects(dropped)))
            message += f", topic {dropped.topic} deleted"
        return StatementResult("drop", sql, message, source=dropped.name)

    def alter(self, statement: ast.AlterSource, sql: str) -> StatementResult:
        altered = self._changes.alter(statement)
        return StatementResult("alter", sql, f"{altered.name} altered", source=altered.name)

    def create_type(self, statement: ast.CreateType, sql: str) -> StatementResult:
        made = self._changes.create_type(statement)
        what = "created" if made else "exists already"
        return StatementResult("create-type", sql, f"type {statement.name} {what}")

    def drop_type(self, statement: ast.DropType, sql: str) -> StatementResult:
        dropped = self._changes.drop_type(statement)
        what = "dropped" if dropped else "does not exist"
        return StatementResult("drop-type", sql, f"type {statement.name} {what}")

    def create_function(self, statement: ast.CreateFunction, sql: str) -> StatementResult:
        made = create_function(statement, self.catalog, self.registered, self.defaults)
        what = "created" if made else "exists already: nothing was done"
        return StatementResult("create-function", sql, f"function {statement.name} {what}")

    def drop_function(self, statement: ast.DropFunction, sql: str) -> StatementResult:
        dropped = drop_function(statement, self.catalog, self.registered)
        what = "dropped" if dropped else "does not exist"
        return StatementResult("drop-function", sql, f"function {statement.name} {what}")

    def wait_for(self, statement: ast.AssertTopic | ast.AssertSchema, sql: str) -> StatementResult:
        assertion = self.assertion(statement)
        assertion.wait()
        return StatementResult("assert", sql, assertion.message)

    def assertion(self, statement: ast.AssertTopic | ast.AssertSchema) -> Assertion:
        """Return the assertion of an ASSERT statement, so that the caller can wait for it."""
        if isinstance(statement, ast.AssertTopic):
            timeout_ms = int(self.settings.get(TOPIC_TIMEOUT, DEFAULT_TIMEOUT_MS))
            return topic_assertion(statement, self.topics_now, timeout_ms)
        if self.registry is None:
            raise AnalysisError(
                "no-schema-registry",
                "there is no schema registry to ask",
                fix="set ksql.schema.registry.url",
                span=statement.span,
            )
        timeout_ms = int(self.settings.get(SCHEMA_TIMEOUT, DEFAULT_TIMEOUT_MS))
        return schema_assertion(statement, self.registry, timeout_ms)

    def topics_now(self) -> dict[str, TopicShape]:
        """Return the topics of the cluster as it is now, and those that queries will create.

        Without a cluster, return the topics that the catalog knows.
        """
        known = self.catalog.topics
        if self.look is None:
            return {name: TopicShape(partitions) for name, partitions in known.items()}
        own = {source.topic for source in self.catalog.sources.values()}
        planned = {name: TopicShape(known[name]) for name in own if name in known}
        return planned | dict(self.look())

    # Queries

    def select(self, query: Query, sql: str) -> StatementResult:
        if query.emit is None:
            pull = self.pull_query(query)
            names = tuple(column.name for column in pull.columns)
            return PullResult("pull-query", sql, columns=names, query=pull)
        push = self.push_query(query)
        return StatementResult("push-query", sql, _NEVER_ENDS, query_id=push.id)

    @format_errors_as_sql()
    def push_query(self, query: Query) -> PushQuery:
        """Plan SELECT ... EMIT CHANGES; refuse a SELECT without EMIT."""
        if query.emit is None:
            raise AnalysisError(
                "pull-query",
                "a SELECT without EMIT is answered once and then ends",
                fix="add EMIT CHANGES, or use pull",
                span=query.span,
            )
        plan = self._planner.select(query, _transient_id())
        plan = replace(plan, sql=format_query(query))
        return PushQuery(plan, self.lowered(plan))

    @format_errors_as_sql()
    def pull_query(self, query: Query) -> PullQuery:
        """Plan SELECT without EMIT."""
        planner = replace(self._planner, catalog=pulled_catalog(query, self.catalog))
        plan = planner.select(as_push_query(query), _transient_id())
        return PullQuery.of(query, plan, self.lowered(plan), self.catalog)

    # SHOW, DESCRIBE and EXPLAIN

    def listing(self, statement: Any, sql: str) -> StatementResult:
        if isinstance(statement, admin.Show) and "CONNECTOR" in statement.what:
            return connector_request(statement, sql)
        listing = Listing(self.catalog, self.functions, self.settings)
        if statement == admin.Show("QUERIES", is_extended=True):
            queries = self.catalog.queries
            topologies = {name: self.lowered(query.plan) for name, query in queries.items()}
            return listing.queries_extended(topologies, sql)
        return listing.answer(statement, sql)

    def connector(self, statement: ConnectorStatement, sql: str) -> StatementResult:
        return connector_request(statement, sql)

    def print_topic(self, statement: admin.PrintTopic, sql: str) -> StatementResult:
        return PrintResult(
            "print",
            sql,
            topic=statement.topic,
            from_beginning=statement.from_beginning,
            interval=statement.interval or 1,
            limit=statement.limit,
        )

    def refuse_test_only(self, statement: Node, sql: str) -> StatementResult:
        raise AnalysisError(
            "only-in-tests",
            "ASSERT of values, streams and tables is only for SQL tests",
            fix="run the file with: penstock sql test",
            span=statement.span,
        )

    def explain(self, statement: ast.Explain, sql: str) -> StatementResult:
        plan, topology = self.explained(statement)
        listing = Listing(self.catalog, self.functions, self.settings)
        result = listing.explained(plan, topology, sql)
        asked = statement.statement
        if isinstance(asked, Query) and asked.emit is None:
            way = self.pull_way(self.pull_query(asked))
            return replace(result, details={"pull": way, **result.details})
        return result

    def explained(self, statement: ast.Explain) -> tuple[QueryPlan, Topology]:
        """Return the plan and the topology of a running query, or of a statement."""
        if statement.query_id is not None:
            query = self.catalog.queries.get(statement.query_id)
            if query is None:
                raise AnalysisError(
                    "unknown-query",
                    f"there is no query {statement.query_id!r}",
                    fix=did_you_mean(statement.query_id, self.catalog.queries),
                    span=statement.span,
                )
            return query.plan, query.topology
        asked = statement.statement
        if isinstance(asked, Query) and asked.emit is None:
            pull = self.pull_query(asked)
            return pull.push.plan, pull.push.topology
        plan: QueryPlan = self._explained_plan(asked)
        return plan, self.lowered(plan)

    def _explained_plan(self, statement: Query | ast.CreateAsSelect | ast.InsertInto | None) -> Any:
        match statement:
            case ast.CreateAsSelect():
                return self._planner.create_as(statement, "EXPLAIN")
            case ast.InsertInto():
                return self._planner.insert_into(statement, "EXPLAIN")
            case Query():
                return self._planner.select(statement, "EXPLAIN")
            case _:
                raise AnalysisError("not-supported", "there is nothing to explain")

    def pull_way(self, query: PullQuery) -> str:
        """Return a sentence that says how a server finds the rows of a pull query."""
        rows = row_plan(query.push.plan, self.lowering(query.push.id))
        if rows is None:
            return GENERAL
        if rows.source.name not in query.tables:
            return STREAM
        scope = self.environment.scope(())
        found = described(access_of(rows.step, rows.conditions, scope), rows.source)
        is_materialized = bool(self.catalog.queries_writing(rows.source.name))
        return found if is_materialized else f"{found}. {ONLY_MATERIALIZED}"

    # Inside

    @format_errors_as_sql()
    def lowered(self, plan: QueryPlan) -> Topology:
        """Build the topology of a plan; its operators check what the planner cannot."""
        return topology_of(plan, self.environment, self.registry)

    @property
    def environment(self) -> Environment:
        return Environment(self.functions, self.catalog.types, self.settings)

    @property
    def _definitions(self) -> Definitions:
        return Definitions(self.catalog, self.settings, self.registry)

    @property
    def _changes(self) -> Changes:
        return Changes(self.catalog)

    @property
    def _planner(self) -> Planner:
        return Planner(self.catalog, self.functions, self.settings)

    def lowering(self, name: str) -> Lowering:
        """Return the object that creates serdes and functions for a query or statement."""
        return Lowering(name, self.environment, self.registry)

    def _add(self, plan: QueryPlan, topology: Topology, sql: str) -> None:
        sources = tuple(source.name for source in plan.sources)
        sink = None if plan.sink is None else plan.sink.name
        self.catalog.add_query(PersistentQuery(plan.id, sql, plan, topology, sources, sink))

    def _id_of(self, statement: ast.CreateAsSelect) -> str:
        replaced = replaced_id_of(statement.name, self.catalog.queries)
        return replaced or query_id_of(statement.name, kind=statement.kind, number=self.number)

    def _partitions(self, plan: QueryPlan) -> int:
        assert plan.sink is not None
        if plan.sink.topic_settings.partitions is not None:
            return plan.sink.topic_settings.partitions
        return self.catalog.topics.get(plan.sources[0].topic, self.catalog.default_partitions)

    def _check_replacement(
        self, statement: ast.CreateAsSelect, old: DataSource, plan: QueryPlan
    ) -> None:
        query = next(iter(self.catalog.queries_writing(old.name)), None)
        check_upgrade(statement, old, None if query is None else query.plan, plan)


def _transient_id() -> str:
    """Return a new id at each call: a transient query shares no topic with any other query."""
    return f"transient_{uuid4().hex[:12]}"


def _already(statement: ast.CreateSource | ast.CreateAsSelect, sql: str) -> StatementResult:
    message = f"{statement.name} exists already: nothing was done"
    return StatementResult("exists", sql, message, source=statement.name)


_HANDLERS: dict[type[Node], Callable[..., StatementResult]] = {
    ast.CreateSource: Execution.create_source,
    ast.CreateAsSelect: Execution.create_as,
    ast.InsertInto: Execution.insert_into,
    ast.InsertValues: Execution.insert_values,
    ast.InsertRows: Execution.insert_rows,
    ast.DeleteFrom: Execution.delete,
    ast.DropSource: Execution.drop,
    ast.AlterSource: Execution.alter,
    ast.CreateType: Execution.create_type,
    ast.DropType: Execution.drop_type,
    ast.CreateFunction: Execution.create_function,
    ast.DropFunction: Execution.drop_function,
    ast.CreateConnector: Execution.connector,
    ast.DropConnector: Execution.connector,
    ast.AssertTopic: Execution.wait_for,
    ast.AssertSchema: Execution.wait_for,
    ast.Explain: Execution.explain,
    ast.AssertValues: Execution.refuse_test_only,
    ast.AssertTombstone: Execution.refuse_test_only,
    ast.AssertSource: Execution.refuse_test_only,
    Query: Execution.select,
    admin.Show: Execution.listing,
    admin.DescribeSource: Execution.listing,
    admin.DescribeAll: Execution.listing,
    admin.DescribeFunction: Execution.listing,
    admin.DescribeConnector: Execution.connector,
    admin.PrintTopic: Execution.print_topic,
}
