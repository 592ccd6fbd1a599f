"""Queries over a websocket."""

import orjson
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

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
