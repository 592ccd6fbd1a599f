"""Connectors on a server: statements through a node, answers as ksqlDB's entities.

Exercises ``connector_entities``, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.connect.errors import ConnectError
from penstock.server.connect.connector_entities import connector_entity
from penstock.server.connect.node_connectors import NodeConnectors
from penstock.server.errors import BadStatementError, NotFoundError, ServerError
from penstock.server.node import ServerNode
from penstock.sql.results import StatementResult
from tests.unit.connect.fake_connect import SOURCE, MemoryConnect
from tests.unit.server.memory import new_node

CREATE = (
    f"CREATE SOURCE CONNECTOR `lines` WITH ('connector.class' = '{SOURCE}', 'file' = '/a',"
    " 'db.password' = 'hush');"
)
STREAM = "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);"


@pytest.fixture
def connect() -> MemoryConnect:
    return MemoryConnect()


@pytest.fixture
def node(connect: MemoryConnect) -> Iterator[ServerNode]:
    made, _ = new_node()
    made.start()
    made.engine._connectors = connect
    made.connectors = NodeConnectors(made)
    yield made
    made.close()


def test_creating_and_dropping(node: ServerNode, connect: MemoryConnect) -> None:
    """The entity has the connector as Connect made it, and no secret."""
    [made] = node.execute(CREATE)
    assert made["@type"] == "connector_info"
    assert made["info"]["name"] == "lines"
    assert made["info"]["tasks"] == [{"connector": "lines", "task": 0}]
    assert "hush" not in str(made)
    assert connect.created["lines"]["db.password"] == "hush"
    [again] = node.execute(CREATE.replace("CONNECTOR", "CONNECTOR IF NOT EXISTS", 1))
    assert (again["@type"], again["message"]) == (
        "warning_entity", "Connector lines already exists",
    )  # fmt: skip
    [dropped] = node.execute("DROP CONNECTOR `lines`;")
    assert (dropped["@type"], dropped["connectorName"]) == ("drop_connector", "lines")


def test_listing_and_describing(node: ServerNode, connect: MemoryConnect) -> None:
    """Shapes are ksqlDB's; a description brings the streams over the connector's topics."""
    node.execute(STREAM)
    node.execute(CREATE)
    connect.used_topics = ["t"]
    listed, plugins, described = node.execute(
        "SHOW CONNECTORS; SHOW CONNECTOR PLUGINS; DESCRIBE CONNECTOR `lines`;"
    )
    assert listed["@type"] == "connector_list"
    assert listed["connectors"] == [
        {
            "name": "lines", "type": "source", "className": SOURCE,
            "state": "RUNNING (1/1 tasks RUNNING)",
        }
    ]  # fmt: skip
    assert plugins["@type"] == "connector_plugins_list"
    assert plugins["connectorsPlugins"][0] == {
        "className": SOURCE, "type": "source", "version": "1",
    }  # fmt: skip
    assert described["@type"] == "connector_description"
    assert described["connectorClass"] == SOURCE
    assert described["status"]["tasks"][0]["state"] == "RUNNING"
    assert [each["name"] for each in described["sources"]] == ["S"]
    assert described["topics"] == ["t"]


def test_refusals_have_the_status_of_connect(node: ServerNode) -> None:
    """What is not there is 404, what is wrong is 400; no secret is in either."""
    with pytest.raises(NotFoundError) as missing:
        node.execute("DROP CONNECTOR nobody;")
    assert missing.value.code == "unknown-connector"
    with pytest.raises(BadStatementError) as wrong:
        node.execute(CREATE.replace("'file' = '/a',", ""))
    assert wrong.value.code == "connector-invalid"
    assert "hush" not in str(wrong.value)


def test_a_connect_that_does_not_answer_is_not_the_callers_fault(
    node: ServerNode, connect: MemoryConnect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same statement may work in a minute, so the status is 500 and not 400."""

    def gone() -> list[str]:
        raise ConnectError("connect-unreachable", "nobody answers")

    monkeypatch.setattr(connect, "connectors", gone)
    with pytest.raises(ServerError) as refused:
        node.execute("SHOW CONNECTORS;")
    assert (refused.value.status, refused.value.code) == (500, "connect-unreachable")
    assert refused.value.statement == "SHOW CONNECTORS;"


def test_a_part_of_the_server_without_routes(node: ServerNode) -> None:
    """Its statements go to /ksql as all others do."""
    connectors = NodeConnectors(node)
    assert list(connectors.routes()) == []
    connectors.end_feeds()
    connectors.close()
    with pytest.raises(TypeError):
        connector_entity(StatementResult("create", ""))
