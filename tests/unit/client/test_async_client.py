"""The client for asyncio against a server that speaks the same protocol.

Exercises ``async_connection``, ``async_queries`` and ``async_inserts``.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from penstock.client import (
    AsyncClient,
    InsertAck,
    InsertError,
    RequestRefusedError,
    ServerUnreachableError,
)
from penstock.errors import InvalidStateError
from tests.unit.client.fake_server import FakeServer

CREATE = "CREATE STREAM clicks (usr STRING KEY, n INTEGER) WITH (KAFKA_TOPIC='clicks');"
PUSH = "SELECT * FROM ORDERS EMIT CHANGES;"


def test_statements_queries_and_listings(server: FakeServer) -> None:
    async def run() -> None:
        async with AsyncClient(server.url) as client:
            assert (await client.execute_statement(CREATE)).status == "SUCCESS"
            assert [each.name for each in await client.list_streams()] == ["ORDERS", "CLICKS"]
            assert await client.list_tables() == []
            assert len(await client.list_topics()) == 2
            assert (await client.list_queries())[0].id == "CTAS_T_1"
            assert (await client.list_functions())[0].name == "UCASE"
            assert await client.list_properties() == {"ksql.service.id": "fake"}
            assert (await client.list_connectors())[0].name == "pg"
            assert (await client.describe_source("clicks")).fields[0].is_key
            assert len(await client.execute_query("SELECT * FROM ORDERS;")) == 2
            assert (await client.server_info()).service_id == "fake_"
            assert await client.health() == await client.cluster_status()
            assert (await client.command_status("a/b/c"))["message"] == "a/b/c"
            await client.check_property("auto.offset.reset")

    asyncio.run(run())


def test_push_query_is_an_asynchronous_iterator(server: FakeServer) -> None:
    server.push_rows = [["x", 1, 1, None], ["y", 2, 1, None]]

    async def run() -> list[str]:
        found = []
        async with AsyncClient(server.url) as client:
            async for row in client.stream_query(PUSH):
                found.append(row["ID"])
                if len(found) == 2:
                    break
        return found

    assert asyncio.run(run()) == ["x", "y"]


def test_leaving_the_block_ends_the_query(server: FakeServer) -> None:
    async def run() -> None:
        async with AsyncClient(server.url) as client:
            rows = client.stream_query(PUSH)
            with pytest.raises(InvalidStateError):
                _ = rows.columns
            async with rows:
                assert rows.columns.names[0] == "ID"
                assert rows.query_id == "push-1"
                assert server.open_queries == 1
            async with asyncio.timeout(20):
                while server.open_queries:
                    await asyncio.sleep(0.02)
            await client.terminate_push_query("push-1")

    asyncio.run(run())
    assert server.closed == ["push-1"]


def test_cancelled_task_ends_its_query(server: FakeServer) -> None:
    """A program that gives up on a query leaves nothing behind on the server."""

    async def run() -> None:
        async with AsyncClient(server.url) as client:

            async def read() -> None:
                async with client.stream_query(PUSH) as rows:
                    async for _ in rows:
                        pass

            task = asyncio.create_task(read())
            async with asyncio.timeout(20):
                while not server.open_queries:
                    await asyncio.sleep(0.02)
                task.cancel()
                while server.open_queries:
                    await asyncio.sleep(0.02)

    asyncio.run(run())


def test_errors_are_the_same_as_those_of_the_blocking_client(server: FakeServer) -> None:
    async def run() -> None:
        async with AsyncClient(server.url) as client:
            with pytest.raises(RequestRefusedError, match="mismatched"):
                await client.execute_statement("CRATE;")
            with pytest.raises(RequestRefusedError, match="does not exist"):
                await client.execute_query("SELECT * FROM foo;")
            with pytest.raises(RequestRefusedError, match="unknown stream"):
                await client.insert_into("foo", {"a": 1})
        async with AsyncClient("http://127.0.0.1:9") as nobody:
            with pytest.raises(ServerUnreachableError):
                await nobody.server_info()

    asyncio.run(run())


def test_stream_of_inserts_from_an_asynchronous_producer(server: FakeServer) -> None:
    """A row that has waited long enough is sent before the next one is made."""
    acks: list[InsertAck] = []

    async def rows() -> AsyncIterator[dict[str, Any]]:
        yield {"ID": "first"}
        async with asyncio.timeout(20):
            while not acks:
                await asyncio.sleep(0.02)
        yield {"ID": "second"}

    async def run() -> None:
        async with AsyncClient(server.url) as client:
            async for ack in client.stream_inserts("ORDERS", rows()):
                acks.append(ack)
            bad = [{"ID": "third"}, {"NO": 1}]
            with pytest.raises(InsertError) as raised:
                [ack async for ack in client.stream_inserts("ORDERS", bad)]
            assert raised.value.seq == 1

    asyncio.run(run())
    assert [row[0] for row in server.sources["ORDERS"].rows[2:]] == ["first", "second", "third"]


def test_error_of_the_producer_comes_behind_its_rows(server: FakeServer) -> None:
    async def rows() -> AsyncIterator[dict[str, Any]]:
        yield {"ID": "ok"}
        raise LookupError("no more")

    async def run() -> None:
        async with AsyncClient(server.url) as client:
            with pytest.raises(LookupError, match="no more"):
                [ack async for ack in client.stream_inserts("ORDERS", rows())]

    asyncio.run(run())
    assert server.sources["ORDERS"].rows[-1][0] == "ok"


def test_connectors_assertions_and_variables(server: FakeServer) -> None:
    async def run() -> None:
        async with AsyncClient(server.url) as client:
            client.define("name", "pg")
            assert client.variables == {"name": "pg"}
            client.undefine("name")
            await client.create_connector("pg", {"a": "b"}, is_source=False, if_not_exists=True)
            await client.drop_connector("pg")
            await client.assert_topic("orders", exists=False, timeout=timedelta(seconds=1))
            await client.assert_schema(schema_id=7)
            client.forget_sequence()
            async with await client.print_topic("PRINT orders;") as records:
                assert len([line async for line in records.lines()]) == 2

    asyncio.run(run())
    assert [each["ksql"] for each in server.requests if "ksql" in each] == [
        "CREATE SINK CONNECTOR IF NOT EXISTS pg WITH ('a'='b');",
        "DROP CONNECTOR pg;",
        "ASSERT NOT EXISTS TOPIC 'orders' TIMEOUT 1 SECONDS;",
        "ASSERT SCHEMA ID 7;",
    ]
