"""The blocking client of an SQL server. The same for asyncio: ``penstock.client.async_client``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from penstock.client import operations, statement_text, wire
from penstock.client.descriptions import (
    ConnectorDescription,
    ConnectorInfo,
    FunctionInfo,
    QueryInfo,
    ServerInfo,
    SourceDescription,
    StreamInfo,
    TableInfo,
    TopicInfo,
)
from penstock.client.errors import RequestRefusedError
from penstock.client.inserts import BATCH_ROWS, InsertAck, acks_of, request_of
from penstock.client.operations import Operation, StatementResult, last_sequence
from penstock.client.options import DEFAULT_URL, ClientOptions
from penstock.client.results import QueryResult
from penstock.client.sync_connection import Chunks, Connection
from penstock.client.sync_inserts import RowBatches
from penstock.client.sync_queries import RowStream

T = TypeVar("T")
Properties = Mapping[str, Any]


class Client:
    """A client of an SQL server that blocks until the server answers.

    Close it, or use it as a context manager. Several threads may use one client.

    Args:
        url: address of the server.
        user: user of basic authentication, with ``password``.
        password: the user's password.
        token: bearer token, in place of a user.
        ca: file with the certificates that the server's own is checked against.
        certificate: file with the client's certificate, if the server wants one.
        key: file with the key of that certificate.
        verify: False accepts any certificate of the server.
        http2: speak HTTP/2 from the first byte, as ksqlDB's server wants it for queries.
        timeout: seconds to wait for a connection and for an answer.
        headers: further headers of every request.
        properties: properties of every statement, such as ``auto.offset.reset``.
        transport: what carries the requests; for tests.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        user: str | None = None,
        password: str | None = None,
        token: str | None = None,
        ca: str | Path | None = None,
        certificate: str | Path | None = None,
        key: str | Path | None = None,
        verify: bool = True,
        http2: bool = False,
        timeout: float = 30.0,
        headers: Mapping[str, str] | None = None,
        properties: Properties | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.options = ClientOptions(
            url=url,
            user=user,
            password=password,
            token=token,
            ca=None if ca is None else Path(ca),
            certificate=None if certificate is None else Path(certificate),
            key=None if key is None else Path(key),
            verify=verify,
            http2=http2,
            timeout_s=timeout,
            headers=headers or {},
        )
        self._connection = Connection(self.options, transport)
        self._properties = dict(properties or {})
        self._variables: dict[str, Any] = {}
        self._sequence: int | None = None

    def close(self) -> None:
        """Close the connections; queries that are being read end."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Statements

    def execute_statement(self, sql: str, properties: Properties | None = None) -> StatementResult:
        """Run one statement other than SELECT, PRINT and INSERT of a program's rows.

        Raises:
            RequestRefusedError: the server refused the statement.
        """
        return self.execute_statements(sql, properties)[-1]

    def execute_statements(
        self, sql: str, properties: Properties | None = None
    ) -> list[StatementResult]:
        """Run a script of statements in order, and return the result of each.

        Raises:
            RequestRefusedError: a statement was refused; ``entities`` has the results before it.
        """
        return [StatementResult.of(each) for each in self.entities(sql, properties)] or [
            StatementResult("", sql)
        ]

    def entities(self, sql: str, properties: Properties | None = None) -> list[dict[str, Any]]:
        """Run statements and return the server's entity for each, as JSON objects."""
        request = wire.statements(sql, self._given(properties), self._variables, self._sequence)
        try:
            found: list[dict[str, Any]] = self._connection.send(request) or []
        except RequestRefusedError as error:
            # The statements before the one that was refused have been run.
            self._sequence = last_sequence(error.entities, self._sequence)
            raise
        # The next request waits for the last command, whichever server answers it.
        self._sequence = last_sequence(found, self._sequence)
        return found

    def forget_sequence(self) -> None:
        """Let the next statement start without waiting for the commands before it."""
        self._sequence = None

    def define(self, name: str, value: Any) -> None:
        """Set a variable: ``${name}`` in later statements stands for its value."""
        self._variables[name] = value

    def undefine(self, name: str) -> None:
        """Forget a variable; it need not exist."""
        self._variables.pop(name, None)

    @property
    def variables(self) -> dict[str, Any]:
        """The variables that ``define`` has set."""
        return dict(self._variables)

    # Queries

    def stream_query(
        self, sql: str, properties: Properties | None = None, *, has_deletions: bool = False
    ) -> RowStream:
        """Run a push query and return its rows as they arrive.

        With ``has_deletions`` the rows that a table loses come, too: their ``is_deleted`` is true,
        and only the columns of the key have values. ksqlDB's own server leaves them out.

        with client.stream_query("SELECT * FROM orders EMIT CHANGES;") as rows:
            for row in rows:
                print(row["USR"], row["AMOUNT"])
        """
        given = self._given(properties)
        request = wire.query(sql, given, self._variables, has_deletions=has_deletions)
        return RowStream(self._connection.open(request, is_endless=True), request)

    def execute_query(self, sql: str, properties: Properties | None = None) -> QueryResult:
        """Run a pull query, or a push query with LIMIT, and return all its rows."""
        request = wire.query(sql, self._given(properties), self._variables)
        with RowStream(self._connection.open(request), request) as rows:
            return rows.result()

    def terminate_push_query(self, query_id: str) -> None:
        """End a push query by its id. It may belong to another client."""
        self._connection.send(wire.close_query(query_id))

    def print_topic(self, sql: str, properties: Properties | None = None) -> Chunks:
        """Run PRINT; ``lines()`` of what it returns yields the records as text."""
        request = wire.query(sql, self._given(properties), self._variables)
        return self._connection.open(request, is_endless=True)

    # Inserts

    def insert_into(self, target: str, row: Mapping[str, Any]) -> None:
        """Write one row; return when Kafka has it.

        Raises:
            InsertError: the row does not fit, or Kafka refused it.
        """
        self._insert(target, [row], 0)

    def stream_inserts(
        self, target: str, rows: Iterable[Mapping[str, Any]], *, batch_rows: int = BATCH_ROWS
    ) -> Iterator[InsertAck]:
        """Write rows as they arrive, and yield an acknowledgement for each, in their order.

        Rows travel in requests of up to ``batch_rows``; a row waits 50 ms for others at most.

        Raises:
            InsertError: a row was refused; the rows after it are not written.
        """
        written = 0
        for batch in RowBatches(rows, batch_rows):
            acks = self._insert(target, batch, written)
            written += len(batch)
            yield from acks

    def _insert(self, target: str, rows: list[Mapping[str, Any]], first: int) -> list[InsertAck]:
        with self._connection.open(request_of(target, rows)) as answer:
            return acks_of(answer.lines(), first, len(rows))

    # The catalog

    def list_streams(self) -> list[StreamInfo]:
        """Return all streams."""
        return self._run(operations.list_streams())

    def list_tables(self) -> list[TableInfo]:
        """Return all tables."""
        return self._run(operations.list_tables())

    def list_topics(self) -> list[TopicInfo]:
        """Return the topics of the Kafka cluster, without internal ones."""
        return self._run(operations.list_topics())

    def list_queries(self) -> list[QueryInfo]:
        """Return all running queries."""
        return self._run(operations.list_queries())

    def list_functions(self) -> list[FunctionInfo]:
        """Return all functions."""
        return self._run(operations.list_functions())

    def list_properties(self) -> dict[str, str]:
        """Return the server's properties by name."""
        return self._run(operations.list_properties())

    def describe_source(self, name: str) -> SourceDescription:
        """Return a stream or table with its columns, topic and queries."""
        return self._run(operations.describe_source(name))

    # Connectors

    def create_connector(
        self,
        name: str,
        config: Mapping[str, Any],
        *,
        is_source: bool,
        if_not_exists: bool = False,
    ) -> StatementResult:
        """Create a connector of Kafka Connect."""
        return self.execute_statement(
            statement_text.create_connector(
                name, config, is_source=is_source, if_not_exists=if_not_exists
            )
        )

    def drop_connector(self, name: str, *, if_exists: bool = False) -> StatementResult:
        """Drop a connector."""
        return self.execute_statement(statement_text.drop_connector(name, if_exists=if_exists))

    def list_connectors(self) -> list[ConnectorInfo]:
        """Return all connectors."""
        return self._run(operations.list_connectors())

    def describe_connector(self, name: str) -> ConnectorDescription:
        """Return a connector with its tasks and topics."""
        return self._run(operations.describe_connector(name))

    # Assertions

    def assert_topic(
        self,
        topic: str,
        config: Mapping[str, int] | None = None,
        *,
        exists: bool = True,
        timeout: timedelta | None = None,
    ) -> None:
        """Wait until a topic exists (or is gone); ``config`` may ask for partitions, replicas.

        Raises:
            RequestRefusedError: it does not hold when the time is over.
        """
        self.execute_statement(
            statement_text.assert_topic(topic, config or {}, exists=exists, timeout=timeout)
        )

    def assert_schema(
        self,
        subject: str | None = None,
        schema_id: int | None = None,
        *,
        exists: bool = True,
        timeout: timedelta | None = None,
    ) -> None:
        """Wait until the schema registry has a schema (or has it no longer).

        Raises:
            RequestRefusedError: it does not hold when the time is over.
        """
        self.execute_statement(
            statement_text.assert_schema(subject, schema_id, exists=exists, timeout=timeout)
        )

    # The server

    def server_info(self) -> ServerInfo:
        """Return the server's version, cluster, service id and state."""
        return ServerInfo.of(self._connection.send(wire.get("/info")))

    def health(self) -> dict[str, Any]:
        """Return the server's health check."""
        answer: dict[str, Any] = self._connection.send(wire.get("/healthcheck"))
        return answer

    def cluster_status(self) -> dict[str, Any]:
        """Return the servers with the same service id, and which of them are alive."""
        answer: dict[str, Any] = self._connection.send(wire.get("/clusterStatus"))
        return answer

    def command_status(self, command_id: str) -> dict[str, Any]:
        """Return the state of a command such as ``stream/ORDERS/create``."""
        answer: dict[str, Any] = self._connection.send(wire.command_status(command_id))
        return answer

    def check_property(self, name: str) -> None:
        """Ask the server whether a property may be set.

        Raises:
            RequestRefusedError: it may not; the message says why.
        """
        self._connection.send(wire.valid_property(name))

    def _given(self, properties: Properties | None) -> dict[str, Any]:
        return self._properties | dict(properties or {})

    def _run(self, operation: Operation[T]) -> T:
        return operation.read(self.entities(operation.sql))
