"""``SqlSession``: plans statements over one catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.errors import PenstockError
from penstock.model.sql.errors import AnalysisError, SqlError
from penstock.registry.registry import SchemaRegistry
from penstock.serde.base import Serde
from penstock.sql.analysed import Analysed
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query
from penstock.sql.ast.statements import AssertSchema, AssertTopic, Explain
from penstock.sql.catalog.catalog import Catalog, DataSource, PersistentQuery
from penstock.sql.execution import Execution
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.ksql_settings import application_id
from penstock.sql.planner.lowering.context import Lowering
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.push import PushQuery
from penstock.sql.results import Outgoing, StatementResult
from penstock.sql.setting_names import layered
from penstock.sql.statements.assertions import TopicShape
from penstock.sql.syntax.masking import blotted
from penstock.sql.syntax.parser import StatementText, parse_statement, split_statements
from penstock.sql.trial import Trial
from penstock.topology.topology import Topology


class SqlSession:
    """Plans statements over a catalog of its own, and changes nothing outside of it.

    Args:
        catalog: The streams, tables and queries, and the settings and variables in force. It may
            be replaced by that of a trial.
        config: The settings of the engine; those of the catalog win over them.
        functions: The built-in functions and those of the program.
        registry: The registry for schemas of AVRO, PROTOBUF and JSON_SR.
        look: Returns the topics of the cluster; None if there is no cluster.
    """

    def __init__(
        self,
        catalog: Catalog,
        config: Mapping[str, str],
        functions: FunctionRegistry,
        registry: SchemaRegistry,
        look: Callable[[], Mapping[str, TopicShape]] | None = None,
    ) -> None:
        self.catalog = catalog
        self.config = config
        self.functions = functions
        self.registry = registry
        self._look = look

    def session(
        self,
        properties: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> SqlSession:
        """Return a session for one request, over the same functions, registry and cluster.

        It begins with a copy of the catalog that has the properties and variables of the request.
        Changes to that copy do not reach this one.
        """
        catalog = self.catalog.copy()
        catalog.properties = layered(self.catalog.properties, properties or {})
        catalog.variables.update({k.upper(): v for k, v in (variables or {}).items()})
        return SqlSession(catalog, self.config, self.functions, self.registry, self._look)

    def trial(self, script: str, *, number: int | None = None) -> Trial:
        """Run a script on a copy of the catalog, and change nothing outside of the copy.

        Args:
            script: Statements, each ended by a semicolon.
            number: The number at the end of the ids of new queries; see
                ``penstock.sql.planner.identity``.

        Raises:
            SqlError: what is wrong, with line, column and the text at fault.
        """
        execution = self._execution(self.catalog.copy(), number)
        done: list[tuple[StatementResult, list[Outgoing]]] = []
        for piece in split_statements(script):
            before = len(execution.outgoing)
            result = self._run(execution, piece, script)
            done.append((result, execution.outgoing[before:]))
        return Trial(execution.catalog, done, execution.schemas)

    def trial_of(self, analysed: Analysed, *, number: int | None = None) -> Trial:
        """Run one parsed statement as ``trial`` does."""
        execution = self._execution(self.catalog.copy(), number)
        with as_sql_error(analysed.statement, analysed.text):
            result = execution.run(analysed.statement, analysed.text)
        return Trial(execution.catalog, [(result, execution.outgoing)], execution.schemas)

    def planned(self, script: str) -> dict[str, Topology]:
        """Plan a script without keeping its changes, and return the topology of every query.

        Raises:
            SqlError: what is wrong, with line, column and the text at fault.
        """
        execution = self._execution(self.catalog.copy())
        for piece in split_statements(script):
            self._run(execution, piece, script)
        queries = execution.catalog.queries
        return {query_id: execution.lowered(query.plan) for query_id, query in queries.items()}

    def _run(self, execution: Execution, piece: StatementText, script: str) -> StatementResult:
        try:
            statement = piece.parsed(execution.catalog.variables)
        except SqlError as error:
            raise error.pointing_into(blotted(script)) from None
        with as_sql_error(statement, script):
            return execution.run(statement, piece.text)

    @property
    def settings(self) -> dict[str, str]:
        """The settings in force: those of SET win over ALTER SYSTEM, both over the engine's."""
        return layered(self.config, self.catalog.system, self.catalog.properties)

    @property
    def sources(self) -> dict[str, DataSource]:
        return dict(self.catalog.sources)

    @property
    def queries(self) -> dict[str, PersistentQuery]:
        return dict(self.catalog.queries)

    def application_id(self, query_id: str) -> str:
        """Return the application id of a query, which is the prefix of its internal topics."""
        return application_id(self.config, query_id)

    def serdes(self, source: DataSource) -> tuple[Serde[Any], Serde[Any]]:
        """Return the serdes for the keys and the values of a stream's or table's topic.

        Both work on tuples with one SQL value for each column; windowed keys are ``Windowed``.
        """
        lowering = self.lowering(source.name)
        return lowering.topic_key_serde(source), lowering.topic_value_serde(source)

    def explained(self, statement: Explain) -> tuple[QueryPlan, Topology]:
        """Return the plan and the topology that an EXPLAIN asks for.

        Raises:
            SqlError: there is no such query, or the statement cannot be planned.
        """
        return self._execution(self.catalog).explained(statement)

    def pauses(self, statement: AssertTopic | AssertSchema, sql: str) -> Iterator[float]:
        """Check an ASSERT until it holds, and yield the seconds to wait before the next check.

        ``execute`` waits in its thread instead.

        Args:
            statement: The ASSERT.
            sql: Its text, for errors to point into.

        Raises:
            SqlError: ``assertion-failed``, or what is wrong with the statement.
        """
        with as_sql_error(statement, sql):
            yield from self._execution(self.catalog).assertion(statement).pauses()

    def pull_way(self, query: Query) -> str:
        """Return a sentence that says how a server finds the rows of a SELECT without EMIT."""
        execution = self._execution(self.catalog)
        return execution.pull_way(execution.pull_query(query))

    def known_functions(self) -> FunctionRegistry:
        """Return all functions: built-in, of the program, and of CREATE FUNCTION."""
        return self._execution(self.catalog).functions

    def query(self, sql: str, parsed: Query | None = None) -> PushQuery:
        """Plan one SELECT ... EMIT CHANGES; ``local`` and ``run_on_spark`` can run it.

        Args:
            sql: The text of the statement.
            parsed: Its tree, if the caller has parsed it already.
        """
        execution, query = self._select(sql, parsed)
        try:
            return execution.push_query(query)
        except SqlError as error:
            raise error.with_source(sql) from None

    def pull(self, sql: str, parsed: Query | None = None) -> PullQuery:
        """Plan one SELECT without EMIT; ``local`` and ``run_on_spark`` can answer it.

        Args:
            sql: The text of the statement.
            parsed: Its tree, if the caller has parsed it already.
        """
        execution, query = self._select(sql, parsed)
        try:
            return execution.pull_query(query)
        except SqlError as error:
            raise error.with_source(sql) from None

    def lowering(self, name: str) -> Lowering:
        """Return the object that compiles expressions and creates serdes for a query."""
        return self._execution(self.catalog).lowering(name)

    def _select(self, sql: str, parsed: Query | None) -> tuple[Execution, Query]:
        execution = self._execution(self.catalog.copy())
        if parsed is not None:
            return execution, parsed
        statement = parse_statement(sql, execution.catalog.variables)
        if not isinstance(statement, Query):
            raise AnalysisError(
                "not-a-query", "this is not a SELECT", fix="use execute", span=statement.span
            ).with_source(sql)
        return execution, statement

    def _execution(self, catalog: Catalog, number: int | None = None) -> Execution:
        return Execution(
            catalog, self.functions, self.registry, self.config, look=self._look, number=number
        )


@contextmanager
def as_sql_error(statement: Node, script: str) -> Iterator[None]:
    """Add the position of the statement to every error that is raised inside."""
    try:
        yield
    except SqlError as error:
        raise _placed(error, statement).pointing_into(blotted(script)) from None
    except PenstockError as error:
        # This includes a registry or a cluster that does not answer.
        refusal = AnalysisError(error.code, error.message, error.fix, error.at)
        raise _placed(refusal, statement).pointing_into(blotted(script)) from error


def _placed(error: SqlError, statement: Node) -> SqlError:
    """Return the error with the span of its statement, unless it has a span of its own."""
    if error.span is not None:
        return error
    return type(error)(error.code, error.message, error.fix, error.at, statement.span, error.source)
