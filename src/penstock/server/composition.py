"""The server with everything it can do: statements, queries and connectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.registry.registry import SchemaRegistry
from penstock.server.application import Services
from penstock.server.connect.node_connectors import NodeConnectors
from penstock.server.node import ServerNode
from penstock.server.querying import QueryServices
from penstock.server.rest.query_routes import QueryRoutes
from penstock.server.sql_server import MakeServices, SqlServer
from penstock.sql.functions.user import UserFunction


def queries_of(node: ServerNode) -> Services:
    """Return the part of a server that answers pull and push queries, and counts them."""
    services = QueryServices(node)
    node.metric_sources.append(services.metrics)
    node.transient = services
    return QueryRoutes(services)


def connectors_of(node: ServerNode) -> Services:
    """Return the part of a server that runs connectors."""
    connectors = NodeConnectors(node)
    node.connectors = connectors
    return connectors


#: Functions that create the parts of the server beside statements, each for a node.
SERVICES: tuple[MakeServices, ...] = (queries_of, connectors_of)


def new_server(
    settings: Mapping[str, Any],
    *,
    queries_file: Path | None = None,
    functions: tuple[UserFunction, ...] = (),
    registry: SchemaRegistry | None = None,
) -> SqlServer:
    """Return a server that is not started; see ``SqlServer`` for the arguments."""
    return SqlServer(
        settings,
        queries_file=queries_file,
        functions=functions,
        registry=registry,
        services=SERVICES,
    )
