"""Nodes of a server, and its queries over topics in memory, closed after each test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.server.node import ServerNode
from tests.unit.server.memory import Runtime, new_node
from tests.unit.server.query_memory import QueryWorld

STREAM = """
    CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
Nodes = Callable[..., tuple[ServerNode, Runtime]]


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    """Make nodes that are closed in the end."""
    made: list[ServerNode] = []

    def make(*args: Any, **named: Any) -> tuple[ServerNode, Runtime]:
        node, runtime = new_node(*args, **named)
        made.append(node.start())
        return node, runtime

    yield make
    for node in made:
        node.close()


@pytest.fixture
def node(nodes: Nodes) -> ServerNode:
    made = nodes()[0]
    made.execute(STREAM)
    return made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[QueryWorld]:
    """Streams, tables and topics for one test; nothing may be left of it."""
    made = QueryWorld(tmp_path)
    yield made
    made.close()
    assert made.topics.readers == []
    assert [*tmp_path.rglob("CURRENT")] == []
