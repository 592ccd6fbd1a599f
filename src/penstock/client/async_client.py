"""The client of an SQL server for asyncio. One that blocks: ``penstock.client.sync_client``."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from penstock.client import operations, statement_text, wire
from penstock.client.async_connection import AsyncChunks, AsyncConnection
from penstock.client.async_inserts import row_batches
from penstock.client.async_queries import AsyncRowStream
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

T = TypeVar("T")
Properties = Mapping[str, Any]


class AsyncClient:
    """A client of an SQL server whose methods are awaited.

    Close it, or use it with ``async with``. Tasks of one event loop may share a client.

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
        transport: httpx2.AsyncBaseTransport | None = None,
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
        self._connection = AsyncConnection(self.options, transport)
        self._properties = dict(properties or {})
        self._variables: dict[str, Any] = {}
        self._sequence: int | None = None

    async def close(self) -> None:
        """Close the connections; queries that are being read end."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # Statements

    async def execute_statement(
        self, sql: str, properties: Properties | None = None
    ) -> StatementResult:
        """Run one statement other than SELECT, PRINT and INSERT of a program's rows.

        Raises:
            RequestRefusedError: the server refused the statement.
        """
        return (await self.execute_statements(sql, properties))[-1]

    async def execute_statements(
        self, sql: str, properties: Properties | None = None
    ) -> list[StatementResult]:
        """Run a script of statements in order, and return the result of each.

        Raises:
            RequestRefusedError: a statement was refused; ``entities`` has the results before it.
        """
        found = await self.entities(sql, properties)
        return [StatementResult.of(each) for each in found] or [StatementResult("", sql)]

    async def entities(
        self, sql: str, properties: Properties | None = None
    ) -> list[dict[str, Any]]:
        """Run statements and return the server's entity for each, as JSON objects."""
        request = wire.statements(sql, self._given(properties), self._variables, self._sequence)
        try:
            found: list[dict[str, Any]] = await self._connection.send(request) or []
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
    ) -> AsyncRowStream:
        """Run a push query and return its rows as they arrive.

        With ``has_deletions`` the rows that a table loses come, too: their ``is_deleted`` is true,
        and only the columns of the key have values. ksqlDB's own server leaves them out.

        async with client.stream_query("SELECT * FROM orders EMIT CHANGES;") as rows:
            async for row in rows:
                print(row["USR"], row["AMOUNT"])
        """
        given = self._given(properties)
        request = wire.query(sql, given, self._variables, has_deletions=has_deletions)
        return AsyncRowStream(lambda: self._connection.open(request, is_endless=True), request)

    async def execute_query(self, sql: str, properties: Properties | None = None) -> QueryResult:
        """Run a pull query, or a push query with LIMIT, and return all its rows."""
        request = wire.query(sql, self._given(properties), self._variables)
        async with AsyncRowStream(lambda: self._connection.open(request), request) as rows:
            return await rows.result()

    async def terminate_push_query(self, query_id: str) -> None:
        """End a push query by its id. It may belong to another client."""
        await self._connection.send(wire.close_query(query_id))

    async def print_topic(self, sql: str, properties: Properties | None = None) -> AsyncChunks:
        """Run PRINT; ``lines()`` of what it returns yields the records as text."""
        request = wire.query(sql, self._given(properties), self._variables)
        return await self._connection.open(request, is_endless=True)

    # Inserts

    async def insert_into(self, target: str, row: Mapping[str, Any]) -> None:
        """Write one row; return when Kafka has it.

        Raises:
            InsertError: the row does not fit, or Kafka refused it.
        """
        await self._insert(target, [row], 0)

    async def stream_inserts(
        self,
        target: str,
        rows: AsyncIterable[Mapping[str, Any]] | Iterable[Mapping[str, Any]],
        *,
        batch_rows: int = BATCH_ROWS,
    ) -> AsyncIterator[InsertAck]:
        """Write rows as they arrive, and yield an acknowledgement for each, in their order.

        Rows travel in requests of up to ``batch_rows``; a row waits 50 ms for others at most.

        Raises:
            InsertError: a row was refused; the rows after it are not written.
        """
        written = 0
        async with aclosing(row_batches(rows, batch_rows)) as batches:
            async for batch in batches:
                acks = await self._insert(target, batch, written)
                written += len(batch)
                for ack in acks:
                    yield ack

    async def _insert(
        self, target: str, rows: list[Mapping[str, Any]], first: int
    ) -> list[InsertAck]:
        async with await self._connection.open(request_of(target, rows)) as answer:
            return acks_of([line async for line in answer.lines()], first, len(rows))

    # The catalog

    async def list_streams(self) -> list[StreamInfo]:
        """Return all streams."""
        return await self._run(operations.list_streams())

    async def list_tables(self) -> list[TableInfo]:
        """Return all tables."""
        return await self._run(operations.list_tables())

    async def list_topics(self) -> list[TopicInfo]:
        """Return the topics of the Kafka cluster, without internal ones."""
        return await self._run(operations.list_topics())

    async def list_queries(self) -> list[QueryInfo]:
        """Return all running queries."""
        return await self._run(operations.list_queries())

    async def list_functions(self) -> list[FunctionInfo]:
        """Return all functions."""
        return await self._run(operations.list_functions())

    async def list_properties(self) -> dict[str, str]:
        """Return the server's properties by name."""
        return await self._run(operations.list_properties())

    async def describe_source(self, name: str) -> SourceDescription:
        """Return a stream or table with its columns, topic and queries."""
        return await self._run(operations.describe_source(name))

    # Connectors

    async def create_connector(
        self,
        name: str,
        config: Mapping[str, Any],
        *,
        is_source: bool,
        if_not_exists: bool = False,
    ) -> StatementResult:
        """Create a connector of Kafka Connect."""
        return await self.execute_statement(
            statement_text.create_connector(
                name, config, is_source=is_source, if_not_exists=if_not_exists
            )
        )

    async def drop_connector(self, name: str, *, if_exists: bool = False) -> StatementResult:
        """Drop a connector."""
        return await self.execute_statement(
            statement_text.drop_connector(name, if_exists=if_exists)
        )

    async def list_connectors(self) -> list[ConnectorInfo]:
        """Return all connectors."""
        return await self._run(operations.list_connectors())

    async def describe_connector(self, name: str) -> ConnectorDescription:
        """Return a connector with its tasks and topics."""
        return await self._run(operations.describe_connector(name))

    # Assertions

    async def assert_topic(
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
        await self.execute_statement(
            statement_text.assert_topic(topic, config or {}, exists=exists, timeout=timeout)
        )

    async def assert_schema(
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
        await self.execute_statement(
            statement_text.assert_schema(subject, schema_id, exists=exists, timeout=timeout)
        )

    # The server

    async def server_info(self) -> ServerInfo:
        """Return the server's version, cluster, service id and state."""
        return ServerInfo.of(await self._connection.send(wire.get("/info")))

    async def health(self) -> dict[str, Any]:
        """Return the server's health check."""
        answer: dict[str, Any] = await self._connection.send(wire.get("/healthcheck"))
        return answer

    async def cluster_status(self) -> dict[str, Any]:
        """Return the servers with the same service id, and which of them are alive."""
        answer: dict[str, Any] = await self._connection.send(wire.get("/clusterStatus"))
        return answer

    async def command_status(self, command_id: str) -> dict[str, Any]:
        """Return the state of a command such as ``stream/ORDERS/create``."""
        answer: dict[str, Any] = await self._connection.send(wire.command_status(command_id))
        return answer

    async def check_property(self, name: str) -> None:
        """Ask the server whether a property may be set.

        Raises:
            RequestRefusedError: it may not; the message says why.
        """
        await self._connection.send(wire.valid_property(name))

    def _given(self, properties: Properties | None) -> dict[str, Any]:
        return self._properties | dict(properties or {})

    async def _run(self, operation: Operation[T]) -> T:
        return operation.read(await self.entities(operation.sql))
