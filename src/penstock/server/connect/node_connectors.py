"""Run the connector statements of a node, and the Connect worker of its cluster."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any, cast

from starlette.routing import BaseRoute

from penstock.connect.errors import ConnectError
from penstock.errors import PenstockError
from penstock.server.connect.connector_entities import connector_entity
from penstock.server.entities.facts import Facts
from penstock.server.entities.sources import source_description
from penstock.server.errors import BadStatementError, NotFoundError, ServerError
from penstock.server.node import ServerNode
from penstock.sql.ast.node import Node
from penstock.sql.connector_results import ConnectorStatement

_log = logging.getLogger("penstock.server")
#: The server's error for a status of Connect. Without an answer, it is the server's own error.
_KINDS: dict[int | None, type[ServerError]] = {None: ServerError, 404: NotFoundError}


class NodeConnectors:
    """Connectors of one node. Connectors of an earlier run resume when the node starts.

    It is a part of the server without routes of its own, since its statements go to /ksql.
    """

    def __init__(self, node: ServerNode) -> None:
        self._node = node
        if node.cluster is not None:
            # Starting a worker takes a while, so a thread does it. Without connectors none starts.
            threading.Thread(target=self._resume, name="penstock-connect", daemon=True).start()

    def execute(self, statement: Node, sql: str, facts: Facts) -> dict[str, Any]:
        """Run one statement and return its entity; ``sql`` has its secrets masked.

        Raises:
            ServerError: what Kafka Connect refuses.
        """
        try:
            engine = self._node.engine
            result = engine.run_connector(cast("ConnectorStatement", statement), sql)
        except ConnectError as error:
            kind = _KINDS.get(error.status, BadStatementError)
            raise kind(error.code, error.message, error.fix, statement=sql) from error
        return connector_entity(result, lambda name: _described(name, facts))

    def routes(self) -> Sequence[BaseRoute]:
        return ()

    def end_feeds(self) -> None:
        """Do nothing: there are no feeds of connectors."""

    def close(self) -> None:
        """Do nothing: the worker ends with the node's cluster."""

    def _resume(self) -> None:
        cluster = self._node.cluster
        assert cluster is not None
        try:
            cluster.connectors.resume(cluster.admin.topics)
        except PenstockError as error:
            _log.warning("the connectors of this service do not run: %s", error)


def _described(name: str, facts: Facts) -> dict[str, Any]:
    return source_description(facts.catalog.sources[name], facts)
