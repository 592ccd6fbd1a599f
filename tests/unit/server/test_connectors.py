"""Connectors over /ksql: ksqlDB's entities, roles, and no secrets.

Exercises ``server.connectors`` and ``entities.connectors``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.server.connectors import EngineConnectors
from penstock.server.errors import BadStatementError, ForbiddenError
from penstock.server.node import ServerNode
from penstock.serving.credentials import Access
from penstock.sql import SqlEngine
from tests.unit.connect.fake_connect import SOURCE, MemoryConnect
from tests.unit.server.memory import new_node

CREATE = (
    f"CREATE SOURCE CONNECTOR `lines` WITH ('connector.class' = '{SOURCE}', 'file' = '/tmp/a',"
    " 'db.password' = 'hush', 'pin' = '1234');"
)


@pytest.fixture
def node() -> Iterator[ServerNode]:
    made = new_node()[0]
    made.connectors = EngineConnectors(SqlEngine(connectors=MemoryConnect()))
    with made:
        yield made


def one(node: ServerNode, sql: str) -> dict[str, Any]:
    (entity,) = node.execute(sql)
    return entity


def test_connector_is_created_and_described(node: ServerNode) -> None:
    """The entities are ksqlDB's, and none of them has a secret."""
    created = one(node, CREATE)
    assert created["@type"] == "connector_info"
    assert (created["info"]["name"], created["info"]["type"]) == ("lines", "source")
    described = one(node, "DESCRIBE CONNECTOR `lines`;")
    assert described["@type"] == "connector_description"
    assert described["connectorClass"] == SOURCE
    assert described["status"]["connector"]["state"] == "RUNNING"
    shown = json.dumps([created, described])
    assert "hush" not in shown
    assert "1234" not in shown


def test_connectors_and_plugins_are_listed(node: ServerNode) -> None:
    one(node, CREATE)
    (listed,) = one(node, "SHOW CONNECTORS;")["connectors"]
    assert (listed["name"], listed["type"], listed["className"]) == ("lines", "source", SOURCE)
    assert one(node, "SHOW SINK CONNECTORS;")["connectors"] == []
    plugins = one(node, "SHOW CONNECTOR PLUGINS;")
    assert plugins["@type"] == "connector_plugins_list"
    assert SOURCE in [each["className"] for each in plugins["connectorsPlugins"]]


def test_connector_is_dropped(node: ServerNode) -> None:
    one(node, CREATE)
    dropped = one(node, "DROP CONNECTOR `lines`;")
    assert (dropped["@type"], dropped["connectorName"]) == ("drop_connector", "lines")
    assert one(node, "DROP CONNECTOR IF EXISTS `lines`;")["@type"] == "warning_entity"
    with pytest.raises(BadStatementError):
        node.execute("DROP CONNECTOR `lines`;")


def test_refusal_shows_no_secret(node: ServerNode) -> None:
    """The statement of an error is masked, too."""
    with pytest.raises(BadStatementError) as refused:
        node.execute(CREATE.replace(SOURCE, "no.such.Class"))
    assert "hush" not in (refused.value.statement or "")
    assert "hush" not in refused.value.message


def test_connectors_are_for_admins(node: ServerNode) -> None:
    """They move data in and out of the cluster; listing them is reading."""
    with pytest.raises(ForbiddenError):
        node.execute(CREATE, access=Access.WRITE)
    node.execute("SHOW CONNECTORS;", access=Access.READ)
