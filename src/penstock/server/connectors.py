"""Statements about connectors: they go to Kafka Connect, and not through the command topic."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.server.entities.facts import Facts
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node

_LISTED = ("CONNECTORS", "SOURCE CONNECTORS", "SINK CONNECTORS", "CONNECTOR PLUGINS")


class Connectors(Protocol):
    """Run CREATE, DROP, SHOW and DESCRIBE of connectors."""

    def execute(self, statement: Node, sql: str, facts: Facts) -> dict[str, Any]:
        """Run one statement and return its entity; ``sql`` has its secrets masked.

        Raises:
            PenstockError: what Connect refuses.
        """


def is_about_connectors(statement: Node) -> bool:
    """Return whether Kafka Connect has to run the statement."""
    if isinstance(statement, admin.Show):
        return statement.what in _LISTED
    kinds = (ast.CreateConnector, ast.DropConnector, admin.DescribeConnector)
    return isinstance(statement, kinds)
