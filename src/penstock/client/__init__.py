"""The Python client of an SQL server: statements, queries, inserts and the catalog over HTTP.

``Client`` blocks, ``AsyncClient`` awaits; both have the same methods. They talk to
``penstock server`` and speak ksqlDB's protocol.

``sync_client``, ``async_client``
    The two faces.
``options``
    Address, login, TLS and time limits of both.
``wire``, ``exchange``
    Requests as data, and how answers are read. Neither opens a connection.
``operations``, ``statement_text``
    What the methods for the catalog send, and what they make of the entities that come back.
``descriptions``
    Streams, tables, topics, queries, connectors and functions as plain values.
``column_types``, ``rows``, ``results``, ``arrow_tables``
    Columns and rows of queries, as Python values, Arrow, pandas and polars.
``inserts``
    Rows that are written, and their acknowledgements.
``errors``
    What the server refuses, with its code, its message and the statement.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.client.async_client import AsyncClient
    from penstock.client.async_queries import AsyncRowStream
    from penstock.client.descriptions import (
        ConnectorDescription,
        ConnectorInfo,
        FieldInfo,
        FunctionInfo,
        QueryInfo,
        ServerInfo,
        SourceDescription,
        StreamInfo,
        TableInfo,
        TopicInfo,
    )
    from penstock.client.errors import (
        ClientError,
        InsertError,
        RequestRefusedError,
        ServerUnreachableError,
    )
    from penstock.client.inserts import InsertAck
    from penstock.client.operations import StatementResult
    from penstock.client.results import QueryResult
    from penstock.client.rows import Column, Row
    from penstock.client.sync_client import Client
    from penstock.client.sync_queries import RowStream

#: Where each public name is defined; the module is loaded when a name is first asked for.
_HOMES = {
    "penstock.client.async_client": ("AsyncClient",),
    "penstock.client.async_queries": ("AsyncRowStream",),
    "penstock.client.descriptions": (
        "ConnectorDescription", "ConnectorInfo", "FieldInfo", "FunctionInfo", "QueryInfo",
        "ServerInfo", "SourceDescription", "StreamInfo", "TableInfo", "TopicInfo",
    ),
    "penstock.client.errors": (
        "ClientError", "InsertError", "RequestRefusedError", "ServerUnreachableError",
    ),
    "penstock.client.inserts": ("InsertAck",),
    "penstock.client.operations": ("StatementResult",),
    "penstock.client.results": ("QueryResult",),
    "penstock.client.rows": ("Column", "Row"),
    "penstock.client.sync_client": ("Client",),
    "penstock.client.sync_queries": ("RowStream",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'penstock.client' has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Client",
    "AsyncClient",
    "RowStream",
    "AsyncRowStream",
    "QueryResult",
    "Row",
    "Column",
    "StatementResult",
    "InsertAck",
    "ServerInfo",
    "StreamInfo",
    "TableInfo",
    "TopicInfo",
    "QueryInfo",
    "SourceDescription",
    "FieldInfo",
    "FunctionInfo",
    "ConnectorInfo",
    "ConnectorDescription",
    "ClientError",
    "RequestRefusedError",
    "ServerUnreachableError",
    "InsertError",
]
