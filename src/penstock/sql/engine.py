"""``SqlEngine``: runs statements, and keeps the streams, tables and queries that they create."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.formats.inference import register
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.registry.registries import registry_for
from penstock.registry.registry import SchemaRegistry
from penstock.sql.ast.statements import CreateConnector
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.connector_results import ConnectorRequest, ConnectorStatement
from penstock.sql.functions.library import built_in_functions
from penstock.sql.functions.user import UserFunction
from penstock.sql.planner.identity import told_apart
from penstock.sql.processing_log import ProcessingLogSettings
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.push import Row
from penstock.sql.results import (
    DeletedTopic,
    Outgoing,
    OutgoingRecord,
    PullResult,
    StatementResult,
)
from penstock.sql.session import SqlSession, as_sql_error
from penstock.sql.setting_names import check_given
from penstock.sql.statements.connectors import ConnectorStatements
from penstock.sql.trial import Trial
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.connect.connect import Connect, Connectors
    from penstock.runtime.spark.history.inputs import BatchInput, DataFrame, SparkSession
    from penstock.sql.catalog.schema import SourceColumn
    from penstock.sql.queries.batch import SqlBatchResult
    from penstock.sql.queries.local import LocalQueries
    from penstock.sql.queries.spark_queries import SparkQueries

# The kernel, the stores and the Spark runtime are a third of the modules of an engine. Planning
# does not need them, so they are imported when the first query runs.
_LOCAL = "penstock.sql.queries.local"
_SPARK = "penstock.sql.queries.spark_queries"
_BATCH = "penstock.sql.queries.batch"
_AD_HOC = "penstock.sql.queries.ad_hoc"
_CONNECT = "penstock.connect.access"


class SqlEngine(SqlSession):
    """Runs SQL in this process: keeps the catalog, plans queries, and returns their topologies.

    >>> engine = SqlEngine()
    >>> results = engine.execute('''
    ...     CREATE STREAM clicks (user VARCHAR KEY, page VARCHAR)
    ...         WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
    ...     CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
    ... ''')
    >>> [result.query_id for result in results]
    [None, 'CTAS_VIEWS_0']

    Args:
        config: Settings by their ksqlDB names, such as ``ksql.service.id``; SET overrides them. A
        name that begins with ``ksql.`` is refused if it is a misspelt setting, and otherwise
        changes nothing if it is not known.
        functions: Functions of users, made with ``@udf``, ``@udaf`` and ``@udtf``.
        registry: The registry for schemas of AVRO, PROTOBUF and JSON_SR; by default, the one that
            the settings name.
        send: A function that is called with each record of INSERT VALUES. By default, records are
            kept in ``outbox``, and the queries of ``local`` process them.
        connectors: The client of Kafka Connect. By default, it connects to ``ksql.connect.url``;
            without that setting, a connected engine starts a worker.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        functions: tuple[UserFunction, ...] = (),
        registry: SchemaRegistry | None = None,
        send: Callable[[OutgoingRecord], None] | None = None,
        connectors: Connect | None = None,
    ) -> None:
        settings = {name: str(value) for name, value in (config or {}).items()}
        check_given(settings)
        known = built_in_functions()
        for function in functions:
            function.register(known)
        super().__init__(Catalog(), settings, known, registry or registry_for(settings))
        self.outbox: list[OutgoingRecord] = []
        self._send = send or self._keep
        self._connectors = connectors
        #: The queries that ``local`` started and that are not closed.
        self._local: list[LocalQueries] = []
        self._cluster: SparkQueries | None = None
        self.processing_log = ProcessingLogSettings.of(self.config)
        if self.processing_log.creates_stream:
            self.execute(self.processing_log.create_stream())

    def execute(self, script: str, *, answers: bool = True) -> list[StatementResult]:
        """Run all statements of a script, or none of them if one is refused.

        The result of a SELECT without EMIT has its ``rows``. They come from the cluster if the
        engine is connected to one, else from the queries that ``local`` has started, else from the
        rows of INSERT VALUES.

        Args:
            script: Statements, each ended by a semicolon.
            answers: Whether to answer SELECT; if false, its result has no rows.

        Raises:
            SqlError: what is wrong, with line, column and the text at fault.
        """
        trial = self.trial(script)
        requests = [each for each in trial.results if isinstance(each, ConnectorRequest)]
        self._check_connectors(requests, script)
        self.catalog = trial.catalog
        self.register(trial)
        if self._cluster is not None:
            self._cluster.keep_paused()
        return [
            self._settled(result, outgoing, script, answers=answers)
            for result, outgoing in trial.done
        ]

    def register(self, trial: Trial) -> None:
        """Register the schemas of a script."""
        for row in trial.schemas:
            register(row)

    def _check_connectors(self, requests: list[ConnectorRequest], script: str) -> None:
        """Let Kafka Connect validate new connectors before any statement takes effect."""
        for request in requests:
            if isinstance(request.statement, CreateConnector):
                with as_sql_error(request.statement, script):
                    self._connector_statements().check(request.statement)

    def run_connector(self, statement: ConnectorStatement, sql: str) -> StatementResult:
        """Run one parsed statement about connectors; ``sql`` is its masked text.

        Raises:
            SqlError: Kafka Connect does not accept the connector.
            ConnectError: Kafka Connect refuses the request for another reason, or does not answer.
        """
        if isinstance(statement, CreateConnector):
            self._connector_statements().check(statement)
        return self._settled_connector(statement, sql)

    def _settled_connector(self, statement: ConnectorStatement, sql: str) -> StatementResult:
        if isinstance(statement, CreateConnector) and self._cluster is not None:
            # A sink connector that starts before its topics exist looks for them again only after
            # minutes.
            self._cluster.make_topics()
        return self._connector_statements().run(statement, sql)

    def _connector_statements(self) -> ConnectorStatements:
        return ConnectorStatements(
            self._connect_client, self._existing_connectors, self.catalog.sources
        )

    def _existing_connectors(self) -> Connectors:
        if self._connectors is None and self._cluster is not None:
            return self._cluster.connectors.existing(self._cluster.admin.topics)
        return self._connect_client()

    def _connect_client(self) -> Connect:
        if self._connectors is not None:
            return self._connectors
        if self._cluster is not None:
            return self._cluster.connectors.client()
        module: Any = importlib.import_module(_CONNECT)
        client: Connect = module.ConnectAccess(self.config, None).client()
        return client

    def settle(self, outgoing: Iterable[Outgoing]) -> None:
        """Write the records and delete the topics of a statement that has been accepted."""
        for each in outgoing:
            if isinstance(each, DeletedTopic):
                self._delete(each)
            else:
                self._send(each)

    def _settled(
        self, result: StatementResult, outgoing: list[Outgoing], script: str, *, answers: bool
    ) -> StatementResult:
        """Run what a statement does outside of the catalog, once the script is accepted."""
        if isinstance(result, ConnectorRequest) and result.statement is not None:
            with as_sql_error(result.statement, script):
                return self._settled_connector(result.statement, result.sql)
        self.settle(outgoing)
        if answers and isinstance(result, PullResult) and result.query is not None:
            rows = self._answer(result.query)
            return replace(result, rows=tuple(tuple(row.values()) for row in rows))
        return result

    def _keep(self, record: OutgoingRecord) -> None:
        """Keep a record of INSERT VALUES, and let the queries in this process process it."""
        self.outbox.append(record)
        for queries in self._open_local():
            queries.insert(record)

    def _delete(self, deleted: DeletedTopic) -> None:
        """Delete a topic: from the cluster, or without one from the rows that the engine keeps."""
        for subject in deleted.subjects:
            self.registry.delete(subject)
        if self._cluster is not None:
            self._cluster.delete_topic(deleted.topic)
            return
        self.outbox[:] = [record for record in self.outbox if record.topic != deleted.topic]
        for queries in self._open_local():
            queries.forget(deleted.topic)

    def _open_local(self) -> list[LocalQueries]:
        self._local = [queries for queries in self._local if not queries.is_closed]
        return self._local

    def _answer(self, query: PullQuery) -> list[Row]:
        if self._cluster is not None and not self._cluster.is_closed:
            return self._cluster.pull(query)
        if self._open_local():
            return query.rows(self._local[-1].records)
        with self.local() as queries:
            return query.rows(queries.records)

    def topology(self, query_id: str | None = None) -> Topology:
        """Return the topology of a query; without an id, the topology of the only query."""
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
        return told_apart(found, queries)

    def topologies(self) -> dict[str, Topology]:
        """Return the topology of every persistent query, in the order they were created."""
        return {query_id: self.topology(query_id) for query_id in self.catalog.queries}

    # Running

    def local(self, *, over_columns: bool = False) -> LocalQueries:
        """Start all persistent queries in this process, without Kafka and Spark.

        They process the rows of INSERT VALUES: those inserted before, and those inserted while they
        run. A row without ROWTIME has the time 0, as with ``pipe``.

        Args:
            over_columns: Whether to process each record as a batch of columns where the result is
                provably the same, as Spark does with large batches.
        """
        module: Any = importlib.import_module(_LOCAL)
        log = self.processing_log if self.processing_log.is_wanted else None
        queries: LocalQueries = module.LocalQueries(
            (
                module.LocalQuery(
                    query_id, self.application_id(query_id), topology,
                    over_columns=over_columns, log=log, statement=self.queries[query_id].sql,
                )
                for query_id, topology in self.topologies().items()
            ),
            log=log,
        )  # fmt: skip
        for record in self.outbox:
            queries.insert(record)
        self._local.append(queries)
        return queries

    def run_on_spark(self, config: Mapping[str, Any] | None = None) -> SparkQueries:
        """Start all persistent queries on Spark; INSERT VALUES then writes to Kafka.

        Args:
            config: Settings of Kafka Streams and Spark; without ``bootstrap.servers``, a private
            broker is started.
        """
        running = self.connect(config)
        running.sync()
        return running

    def run_batch(
        self,
        inputs: Mapping[str, DataFrame | BatchInput],
        spark: SparkSession,
        *,
        wall_clock: int = 0,
    ) -> SqlBatchResult:
        """Run all persistent queries over history, on Spark's own data path.

        Each query runs once over all of its input, as ``penstock.run_batch`` runs a topology; what
        it writes is the history of the queries that read it. Rows of INSERT VALUES belong to it.

        Args:
            inputs: By stream, table or topic its history: a DataFrame with the columns that it
                declares and their time in ``timestamp`` or ``ROWTIME``, or with the records of its
                topic as ``key`` and ``value``. A ``BatchInput`` says which columns these are.
            spark: The session.
            wall_clock: The present time for functions and for rows inserted without ROWTIME, in
                milliseconds.

        Raises:
            AnalysisError: a source has no history, or its history lacks a column.
        """
        module: Any = importlib.import_module(_BATCH)
        result: SqlBatchResult = module.SqlBatchResult(self, inputs, spark, wall_clock=wall_clock)
        return result

    def connect(
        self, config: Mapping[str, Any] | None = None, *, keeps_paused: bool = True
    ) -> SparkQueries:
        """Connect to Kafka without starting queries; statements then know its topics.

        Args:
            config: Settings of Kafka Streams and Spark, as for ``run_on_spark``.
            keeps_paused: Whether to keep the ids of paused queries in a topic. A server does not
                need it: its command topic has them.
        """
        module: Any = importlib.import_module(_SPARK)
        running: SparkQueries = module.SparkQueries(self, config, keeps_paused=keeps_paused)
        self._cluster, self._look = running, running.topics
        self._send = running.send
        for record in self.outbox:
            running.send(record)
        self.outbox.clear()
        return running

    def ad_hoc(self, sql: str) -> pa.Table:
        """Answer one SELECT in DuckDB's dialect over the present rows of streams and tables.

        The query can use everything that DuckDB has: window functions, CTEs, any join, and files
        such as Parquet beside the catalog. Streams are read to their present end. Needs the extra
        ``duckdb``.

        Raises:
            AnalysisError: ``ad-hoc-query``, with what DuckDB says about the query.
        """
        module: Any = importlib.import_module(_AD_HOC)
        table: pa.Table = module.ad_hoc(sql, self.catalog.sources, self._present_rows)
        return table

    def _present_rows(self, name: str) -> tuple[tuple[SourceColumn, ...], list[Row]]:
        query = self.pull(f"SELECT * FROM `{name}`;")
        return query.columns, self._answer(query)
