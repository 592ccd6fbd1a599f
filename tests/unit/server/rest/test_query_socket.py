"""Queries over a websocket."""

import asyncio
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from penstock.server.pull.service import MAX_CONCURRENT
from tests.unit.server.query_memory import QueryWorld

TABLE = """
    CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT)
        WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');
"""


def url(sql: str, **properties: object) -> str:
    request = orjson.dumps({"ksql": sql, "streamsProperties": properties}).decode()
    return f"/ws/query?request={request}"


@pytest.fixture
def client(world: QueryWorld) -> TestClient:
    world.execute(TABLE)
    world.topics.add("users", b"ann", b'{"AGE": 30}')
    return TestClient(Starlette(routes=world.routes.routes()))


def test_a_pull_query_sends_columns_and_rows(client: TestClient) -> None:
    """Then the server closes with a normal end."""
    with client.websocket_connect(url("SELECT * FROM users;")) as socket:
        columns = socket.receive_json()
        assert [column["name"] for column in columns] == ["ID", "AGE"]
        assert columns[1]["schema"]["type"] == "INTEGER"
        assert socket.receive_json() == {"row": {"columns": ["ann", 30]}}
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_json()
    assert ended.value.code == 1000


def test_a_push_query_sends_rows_as_they_come(client: TestClient, world: QueryWorld) -> None:
    """Until its limit; nothing is left when the socket is closed."""
    sql = "SELECT age FROM users EMIT CHANGES LIMIT 2;"
    properties = {"auto.offset.reset": "earliest"}
    with client.websocket_connect(url(sql, **properties)) as socket:
        socket.receive_json()
        assert socket.receive_json() == {"row": {"columns": [30]}}
        world.topics.add("users", b"ann", b'{"AGE": 31}')
        assert socket.receive_json() == {"row": {"columns": [31]}}
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()
    assert world.services.push.all() == []


@pytest.mark.parametrize("sql", ["SELECT * FROM nothing;", "", "DROP TABLE users;"])
def test_errors_close_the_socket(client: TestClient, sql: str) -> None:
    """The reason stands in the close frame."""
    with client.websocket_connect(url(sql)) as socket, pytest.raises(WebSocketDisconnect) as ended:
        socket.receive_json()
    assert ended.value.code == 1003
    assert ended.value.reason


def closed(client: TestClient, sql: str) -> WebSocketDisconnect:
    """Return how the server ends a websocket that gets no message."""
    with client.websocket_connect(url(sql)) as socket, pytest.raises(WebSocketDisconnect) as ended:
        socket.receive_json()
    return ended.value


def test_the_reason_fits_into_a_close_frame(client: TestClient) -> None:
    """It holds 123 bytes, and letters may have several."""
    ended = closed(client, f"SELECT * FROM `{'größe' * 40}`;")
    assert ended.code == 1003
    assert 60 < len(ended.reason.encode()) <= 123


def test_an_unexpected_error_is_told_and_logged(
    client: TestClient, world: QueryWorld, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A mistake of the server must not look like a network that failed."""

    def broken(*given: Any) -> Any:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(world.services.pull, "plan", broken)
    assert closed(client, "SELECT * FROM users;").code == 1011
    assert "a bug" in caplog.text


def test_limits_of_pull_queries_hold_for_websockets(tmp_path: Path) -> None:
    """And they are counted as those of the other endpoints are."""
    world = QueryWorld(tmp_path, {MAX_CONCURRENT: "1"})
    world.execute(TABLE)
    client = TestClient(Starlette(routes=world.routes.routes()))
    with client.websocket_connect(url("SELECT * FROM users;")) as socket:
        socket.receive_json()
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()
    world.services.pull.enter()
    assert "under way" in closed(client, "SELECT * FROM users;").reason
    counts = [m.value for m in world.services.meter.metrics() if m.name == "pull-requests-total"]
    assert counts == [1]
    world.close()


def test_a_client_that_leaves_is_not_an_error(world: QueryWorld) -> None:
    """The metrics say of websockets what they say of other connections."""
    world.execute(TABLE)
    for number in range(20_000):
        world.topics.add("users", b"u%05d" % number, b'{"AGE": 1}')
    route = next(each for each in world.routes.routes() if each.path == "/ws/query")
    path, _, asked = url("SELECT * FROM users;").partition("?")
    scope = {"type": "websocket", "path": path, "query_string": asked.encode(), "headers": []}

    async def test() -> None:
        messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        messages.put_nowait({"type": "websocket.connect"})

        async def send(message: Any) -> None:
            if "row" in message.get("text", ""):
                messages.put_nowait({"type": "websocket.disconnect"})
            await asyncio.sleep(0)

        await asyncio.wait_for(route.app(scope, messages.get, send), 60)

    asyncio.run(test())
    found = {m.name: m.value for m in world.services.meter.metrics()}
    assert found["pull-requests-total"] == 1
    assert found["pull-errors-total"] == 0
    assert found["pull-rows-total"] < 20_000


def test_a_client_that_takes_nothing_is_cut_off(
    client: TestClient, world: QueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its push query ends, and leaves its place to others."""
    monkeypatch.setattr("penstock.server.rest.query_answers.SEND_S", 0.0)
    with client.websocket_connect(url("SELECT * FROM users EMIT CHANGES;")):
        deadline = time.monotonic() + 20
        while world.services.meter.metrics() == [] or world.services.push.all():
            assert time.monotonic() < deadline
            time.sleep(0.01)
