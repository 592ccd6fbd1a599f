"""How the server runs statements about connectors: through whatever speaks to Kafka Connect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node

_LISTED = ("CONNECTORS", "SOURCE CONNECTORS", "SINK CONNECTORS", "CONNECTOR PLUGINS")


class Connectors(Protocol):
    """Runs CREATE, DROP, SHOW and DESCRIBE of connectors."""

    def execute(self, statement: Node, sql: str, settings: Mapping[str, str]) -> dict[str, Any]:
        """Run one statement and return its entity; ``sql`` has its secrets masked.

        Raises:
            PenstockError: what Connect refuses.
        """


def is_about_connectors(statement: Node) -> bool:
    """Tell whether Kafka Connect has to be asked."""
    if isinstance(statement, admin.Show):
        return statement.what in _LISTED
    kinds = (ast.CreateConnector, ast.DropConnector, admin.DescribeConnector)
    return isinstance(statement, kinds)
