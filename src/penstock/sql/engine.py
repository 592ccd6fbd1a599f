"""``SqlEngine``: statements in, streams, tables and running queries out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import PenstockError
from penstock.formats.inference import register
from penstock.model.sql.errors import AnalysisError, SqlError, did_you_mean
from penstock.registry.registries import registry_for
from penstock.registry.registry import SchemaRegistry
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query
from penstock.sql.catalog.catalog import Catalog, DataSource, PersistentQuery
from penstock.sql.execution import Execution
from penstock.sql.functions.library import built_in_functions
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.functions.user import UserFunction
from penstock.sql.queries.local import LocalQueries, LocalQuery
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.push import PushQuery
from penstock.sql.queries.spark_queries import SparkQueries
from penstock.sql.results import OutgoingRecord, StatementResult
from penstock.sql.syntax.parser import StatementText, parse_statement, split_statements
from penstock.topology.topology import Topology

SERVICE_ID = "ksql.service.id"
_DEFAULT_SERVICE = "default_"


class SqlEngine:
    """Runs SQL in this process: keeps the catalog, plans queries, hands out their topologies.

    >>> engine = SqlEngine()
    >>> results = engine.execute('''
    ...     CREATE STREAM clicks (user VARCHAR KEY, page VARCHAR)
    ...         WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
    ...     CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
    ... ''')
    >>> [result.query_id for result in results]
    [None, 'CTAS_VIEWS_0']

    Args:
        config: Settings by their ksqlDB names, such as ``ksql.service.id``; SET goes over them.
        functions: Functions of users, made with ``@udf``, ``@udaf`` and ``@udtf``.
        registry: Where schemas of AVRO, PROTOBUF and JSON_SR are kept; else as the settings say.
        send: Takes the records of INSERT VALUES; without it they are kept in ``outbox``.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        functions: tuple[UserFunction, ...] = (),
        registry: SchemaRegistry | None = None,
        send: Callable[[OutgoingRecord], None] | None = None,
    ) -> None:
        self.config = {name: str(value) for name, value in (config or {}).items()}
        self.functions: FunctionRegistry = built_in_functions()
        for function in functions:
            function.register(self.functions)
        self.registry: SchemaRegistry = registry or registry_for(self.config)
        self.catalog = Catalog()
        self.outbox: list[OutgoingRecord] = []
        self._send = send or self.outbox.append

    def execute(self, script: str) -> list[StatementResult]:
        """Runs all statements of a script, or none of them when one is refused.

        Raises:
            SqlError: what is wrong, with line, column and the text at fault.
        """
        execution = self._execution(self.catalog.copy())
        results = [self._run(execution, piece, script) for piece in split_statements(script)]
        self.catalog = execution.catalog
        for row in execution.schemas:
            register(row)
        for record in execution.outgoing:
            self._send(record)
        return results

    def _run(self, execution: Execution, piece: StatementText, script: str) -> StatementResult:
        statement: Node | None = None
        try:
            statement = parse_statement(piece.placed_in(script), execution.catalog.variables)
            return execution.run(statement, piece.text)
        except SqlError as error:
            raise _placed(error, statement).pointing_into(script) from None
        except PenstockError as error:
            # A registry or a cluster that does not answer, too, is an error of this statement.
            refusal = AnalysisError(error.code, error.message, error.fix, error.at)
            raise _placed(refusal, statement).pointing_into(script) from error

    # What there is

    @property
    def sources(self) -> dict[str, DataSource]:
        return dict(self.catalog.sources)

    @property
    def queries(self) -> dict[str, PersistentQuery]:
        return dict(self.catalog.queries)

    def topology(self, query_id: str | None = None) -> Topology:
        """Gives the topology of a query; without an id, of the only one."""
        queries = self.catalog.queries
        if query_id is None and len(queries) == 1:
            query_id = next(iter(queries))
        found = None if query_id is None else queries.get(query_id)
        if found is None:
            raise AnalysisError(
                "unknown-query",
                f"there is no query {query_id!r}" if query_id else "there are several queries",
                fix=did_you_mean(query_id or "", queries)
                or f"queries are {', '.join(queries) or 'none'}",
            )
        return found.topology

    def topologies(self) -> dict[str, Topology]:
        """Gives the topology of every persistent query, in the order they were created."""
        return {query_id: self.topology(query_id) for query_id in self.catalog.queries}

    def application_id(self, query_id: str) -> str:
        """Gives the application id a query runs under, which its topics begin with."""
        service = self.config.get(SERVICE_ID, _DEFAULT_SERVICE)
        return f"_confluent-ksql-{service}query_{query_id}"

    # Running

    def local(self, *, over_columns: bool = False) -> LocalQueries:
        """Starts all persistent queries in this process, without Kafka and Spark.

        Args:
            over_columns: Runs each record as a batch over columns, where that gives the same, as
                large batches run on Spark.
        """
        return LocalQueries(
            LocalQuery(query_id, self.application_id(query_id), topology, over_columns=over_columns)
            for query_id, topology in self.topologies().items()
        )

    def run_on_spark(self, config: Mapping[str, Any] | None = None) -> SparkQueries:
        """Starts all persistent queries on Spark; INSERT VALUES then writes to Kafka.

        Args:
            config: Settings of Kafka Streams and Spark; without ``bootstrap.servers`` a private
                broker is started.
        """
        running = self.connect(config)
        running.sync()
        return running

    def connect(self, config: Mapping[str, Any] | None = None) -> SparkQueries:
        """Connects to Kafka and starts nothing: statements know its topics from now on."""
        running = SparkQueries(self, config)
        self._send = running.send
        for record in self.outbox:
            running.send(record)
        self.outbox.clear()
        return running

    def query(self, sql: str) -> PushQuery:
        """Plans one SELECT ... EMIT CHANGES; ``local`` and ``run_on_spark`` can run it."""
        execution, query = self._select(sql)
        try:
            return execution.push_query(query)
        except SqlError as error:
            raise error.with_source(sql) from None

    def pull(self, sql: str) -> PullQuery:
        """Plans one SELECT without EMIT; ``local`` and ``run_on_spark`` can answer it."""
        execution, query = self._select(sql)
        try:
            return execution.pull_query(query)
        except SqlError as error:
            raise error.with_source(sql) from None

    def _select(self, sql: str) -> tuple[Execution, Query]:
        execution = self._execution(self.catalog.copy())
        statement = parse_statement(sql, execution.catalog.variables)
        if not isinstance(statement, Query):
            raise AnalysisError(
                "not-a-query", "this is no SELECT", fix="use execute", span=statement.span
            ).with_source(sql)
        return execution, statement

    def _execution(self, catalog: Catalog) -> Execution:
        return Execution(catalog, self.functions, self.registry, self.config)


def _placed(error: SqlError, statement: Node | None) -> SqlError:
    """Gives an error that knows no place the place of its statement."""
    if error.span is not None or statement is None:
        return error
    return type(error)(error.code, error.message, error.fix, error.at, statement.span, error.source)
