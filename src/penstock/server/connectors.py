"""Statements about connectors: they go to Kafka Connect, and not through the command topic."""

from __future__ import annotations

from typing import Any, Protocol, cast

from penstock.server.entities.connectors import connector_entity
from penstock.server.entities.facts import Facts
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.connector_results import ConnectorStatement
from penstock.sql.engine import SqlEngine
from penstock.sql.queries.spark_queries import SparkQueries

_LISTED = ("CONNECTORS", "SOURCE CONNECTORS", "SINK CONNECTORS", "CONNECTOR PLUGINS")


class Connectors(Protocol):
    """Runs CREATE, DROP, SHOW and DESCRIBE of connectors."""

    def execute(self, statement: Node, sql: str, facts: Facts) -> dict[str, Any]:
        """Run one statement and return its entity; ``sql`` has its secrets masked.

        Raises:
            PenstockError: what Connect refuses.
        """


class EngineConnectors:
    """Asks the Kafka Connect of an engine: the one at ``ksql.connect.url``, or its own worker.

    Kafka Connect keeps connectors itself, and all servers of a service ask the same one.
    """

    def __init__(self, engine: SqlEngine, cluster: SparkQueries | None = None) -> None:
        self._engine, self._cluster = engine, cluster

    def execute(self, statement: Node, sql: str, facts: Facts) -> dict[str, Any]:
        if self._cluster is not None and isinstance(statement, ast.CreateConnector):
            # A sink that starts before its topics would look for them minutes later.
            self._cluster.make_topics()
        result = self._engine.run_connector(cast(ConnectorStatement, statement), sql)
        return connector_entity(result, sql, facts)


def is_about_connectors(statement: Node) -> bool:
    """Tell whether Kafka Connect has to be asked."""
    if isinstance(statement, admin.Show):
        return statement.what in _LISTED
    kinds = (ast.CreateConnector, ast.DropConnector, admin.DescribeConnector)
    return isinstance(statement, kinds)
