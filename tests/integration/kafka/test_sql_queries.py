"""Queries of the SQL server against a real broker, over HTTP/1.1 and HTTP/2 on one port.

``server.reading`` reads the topics.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from confluent_kafka import Producer
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, StreamEnded
from starlette.applications import Starlette

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.server.planning import Planning
from penstock.server.querying import QueryServices
from penstock.server.rest.query_routes import QueryRoutes
from penstock.server.security.topic_rules import TopicRules
from penstock.serving.http_server import HttpServer
from penstock.serving.options import ServerOptions
from penstock.sql import SqlEngine

pytestmark = pytest.mark.kafka
WAIT_S = 60.0


class Host:
    """A server's catalog and its cluster, without a command topic."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.engine = SqlEngine()
        self.topic_rules = TopicRules.of(self.engine.config)
        self.planning = Planning()
        self.config = StreamsConfig(
            {
                "application.id": "sql-queries",
                "bootstrap.servers": bootstrap,
                "state.dir": str(folder),
            }
        )

    def session(self, properties: Mapping[str, Any], variables: Mapping[str, str]) -> SqlEngine:
        return self.engine.session({k: str(v) for k, v in properties.items()}, variables)

    def running(self, query_id: str) -> None:
        return None

    async def caught_up(self, sequence: int | None) -> None:
        return None


class Application:
    """The routes of queries, as Granian serves them."""

    def __init__(self, host: Host) -> None:
        self.routes = QueryRoutes(QueryServices(host))
        self._app = Starlette(routes=self.routes.routes())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    def end_feeds(self) -> None:
        self.routes.end_feeds()

    def close(self) -> None:
        self.routes.close()


class Served:
    """A server, its engine, and a producer."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.host = Host(bootstrap, folder)
        self._apps: list[Application] = []
        self._server = HttpServer(self._application, ServerOptions(), "test").start()
        self.url = self._server.url
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 0, "partitioner": "murmur2_random"}
        )

    def _application(self) -> Application:
        self._apps.append(Application(self.host))
        return self._apps[-1]

    @property
    def services(self) -> QueryServices:
        return self._apps[0].routes.services

    def send(self, topic: str, key: str, **fields: object) -> None:
        value = orjson.dumps({name.upper(): given for name, given in fields.items()})
        self.producer.produce(topic, value, key)
        self.producer.flush()

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def served(kafka_broker: str, tmp_path: Path) -> Iterator[Served]:
    made = Served(kafka_broker, tmp_path)
    yield made
    made.stop()
    assert [*tmp_path.rglob("CURRENT")] == []


@pytest.fixture(params=["HTTP/1.1", "HTTP/2"])
def version(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def client(served: Served, version: str) -> httpx.AsyncClient:
    """Return a client that speaks one version only; HTTP/2 begins without an upgrade."""
    is_2 = version == "HTTP/2"
    return httpx.AsyncClient(base_url=served.url, http1=not is_2, http2=is_2, timeout=WAIT_S)


def table(served: Served, topic: str) -> None:
    served.host.engine.execute(
        "CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT)"
        f" WITH (KAFKA_TOPIC='{topic}', PARTITIONS=3, VALUE_FORMAT='JSON');"
    )


def stream(served: Served, topic: str) -> None:
    served.host.engine.execute(
        "CREATE STREAM orders (id VARCHAR KEY, amount INT)"
        f" WITH (KAFKA_TOPIC='{topic}', PARTITIONS=3, VALUE_FORMAT='JSON');"
    )


def run(test: Callable[[], Any]) -> None:
    asyncio.run(asyncio.wait_for(test(), 2 * WAIT_S))


def test_rows_are_pulled_by_key(
    served: Served, version: str, new_topic: Callable[..., str]
) -> None:
    """The replica follows the topic: a new row is seen without asking Kafka again."""
    topic = new_topic("users", partitions=3)
    table(served, topic)
    served.send(topic, "ann", age=30)

    async def test() -> None:
        async with client(served, version) as http:
            body = {"sql": "SELECT * FROM users WHERE id = 'ann';"}
            answer = await http.post("/query-stream", json=body)
            assert answer.http_version == version
            assert answer.text.splitlines()[1] == '["ann",30]'
            served.send(topic, "ann", age=31)
            deadline = time.monotonic() + WAIT_S
            while '["ann",31]' not in (await http.post("/query-stream", json=body)).text:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)

    run(test)


async def lines(answer: httpx.Response) -> AsyncIterator[Any]:
    async for line in answer.aiter_lines():
        if line.strip():
            yield orjson.loads(line)


def test_rows_are_pushed_as_they_come(
    served: Served, version: str, new_topic: Callable[..., str], kafka_admin: Admin
) -> None:
    """When the client leaves, no topic, group, thread or consumer of the query is left."""
    topic = new_topic("orders", partitions=3)
    stream(served, topic)
    before = set(kafka_admin.topics())

    async def test() -> None:
        async with client(served, version) as http:
            sql = "SELECT id, COUNT(*) AS n FROM orders WHERE amount > 1 GROUP BY id EMIT CHANGES;"
            async with http.stream("POST", "/query-stream", json={"sql": sql}) as answer:
                found = lines(answer)
                assert (await anext(found))["columnNames"] == ["ID", "N"]
                for expected in (1, 2):
                    served.send(topic, "a", amount=5)
                    assert await anext(found) == ["a", expected]
        await gone(served)

    run(test)
    assert set(kafka_admin.topics()) == before
    assert [group.id for group in kafka_admin.groups() if "penstock-queries" in group.id] == []


async def gone(served: Served) -> None:
    """Wait until the server has noticed that its clients have left."""
    async with asyncio.timeout(WAIT_S):
        while served.services.push.all() or _threads():
            await asyncio.sleep(0.05)


def _threads() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("penstock-push", "penstock-catch"))]


def test_a_query_from_the_beginning_joins_the_others(
    served: Served, version: str, new_topic: Callable[..., str]
) -> None:
    """It reads what is there, and then what comes; no row is missing and none comes twice."""
    topic = new_topic("orders", partitions=3)
    stream(served, topic)
    for number in range(500):
        served.producer.produce(topic, orjson.dumps({"AMOUNT": number}), f"k{number}")
    served.producer.flush()

    async def test() -> None:
        async with client(served, version) as http:
            body = {
                "sql": "SELECT amount FROM orders EMIT CHANGES;",
                "properties": {"auto.offset.reset": "earliest"},
            }
            async with http.stream("POST", "/query-stream", json=body) as answer:
                found = lines(answer)
                await anext(found)
                seen = [(await anext(found))[0] for _ in range(500)]
                for number in range(500, 600):
                    served.send(topic, f"k{number}", amount=number)
                seen += [(await anext(found))[0] for _ in range(100)]
                assert sorted(seen) == list(range(600))
        await gone(served)

    run(test)


def test_rows_and_acknowledgements_travel_at_once(
    served: Served, version: str, new_topic: Callable[..., str]
) -> None:
    """The second row is sent after the first acknowledgement has come."""
    topic = new_topic("orders", partitions=3)
    stream(served, topic)

    # httpx sends a whole request before it reads the answer; these clients do both at once.
    run(lambda: (_over_http_2 if version == "HTTP/2" else _over_http_1)(served))
    ends = Admin({"bootstrap.servers": served.host.config["bootstrap.servers"]}).end_offsets(
        [(topic, number) for number in range(3)]
    )
    assert sum(ends.values()) == 2


async def _connected(served: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = served.url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def _over_http_1(served: Served) -> None:
    reader, writer = await _connected(served)
    head = "POST /inserts-stream HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked"
    writer.write(f"{head}\r\n\r\n".encode())
    _chunk(writer, b'{"target": "orders"}\n{"id": "a", "amount": 1}\n')
    await asyncio.wait_for(reader.readuntil(b'{"status":"ok","seq":0}'), WAIT_S)
    _chunk(writer, b'{"id": "b", "amount": 2}\n')
    await asyncio.wait_for(reader.readuntil(b'{"status":"ok","seq":1}'), WAIT_S)
    _chunk(writer, b"")
    await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), WAIT_S)
    writer.close()


class Http2:
    """A connection that speaks HTTP/2 from its first byte, as ksqlDB's Java client does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._h2 = H2Connection(H2Configuration(client_side=True))
        self._h2.initiate_connection()
        self.seen = b""

    def post(self, path: str) -> None:
        names = {":method": "POST", ":path": path, ":scheme": "http", ":authority": "localhost"}
        self._h2.send_headers(1, list(names.items()))
        self._flush()

    def send(self, data: bytes, *, is_last: bool = False) -> None:
        self._h2.send_data(1, data, end_stream=is_last)
        self._flush()

    def _flush(self) -> None:
        self._writer.write(self._h2.data_to_send())

    async def until(self, text: bytes | None) -> None:
        """Read until a text has come, or without one until the end of the answer."""
        while text is None or text not in self.seen:
            data = await asyncio.wait_for(self._reader.read(65536), WAIT_S)
            for event in self._h2.receive_data(data):
                if isinstance(event, DataReceived):
                    self.seen += event.data or b""
                elif isinstance(event, StreamEnded):
                    assert text is None
                    return
            self._flush()

    def close(self) -> None:
        self._writer.close()


async def _over_http_2(served: Served) -> None:
    http = Http2(*await _connected(served))
    http.post("/inserts-stream")
    http.send(b'{"target": "orders"}\n{"id": "a", "amount": 1}\n')
    await http.until(b'{"status":"ok","seq":0}\n')
    http.send(b'{"id": "b", "amount": 2}\n')
    await http.until(b'{"status":"ok","seq":1}\n')
    http.send(b"", is_last=True)
    await http.until(None)
    http.close()


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def test_streams_are_pulled_to_their_present_end(
    served: Served, version: str, new_topic: Callable[..., str]
) -> None:
    """The answer ends, although the topic goes on."""
    topic = new_topic("orders", partitions=3)
    stream(served, topic)
    for number in range(100):
        served.producer.produce(topic, orjson.dumps({"AMOUNT": number}), f"k{number}")
    served.producer.flush()

    async def test() -> None:
        async with client(served, version) as http:
            body = {"ksql": "SELECT amount FROM orders WHERE amount >= 90;"}
            rows = (await http.post("/query", json=body)).json()
            assert len(rows) == 12
            assert rows[-1] == {"finalMessage": "Query Completed"}

    run(test)
