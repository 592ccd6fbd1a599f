"""The server with everything it can do: statements, queries and connectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.registry.registry import SchemaRegistry
from penstock.server.sql_server import MakeServices, SqlServer
from penstock.sql.functions.user import UserFunction

#: What is served beside statements; each makes a part of the server for a node.
SERVICES: tuple[MakeServices, ...] = ()


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
