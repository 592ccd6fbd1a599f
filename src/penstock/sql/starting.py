"""How a server and ``penstock sql run`` start: with an engine, and the settings of its cluster.

Both run a script with the same engine, the same functions and the same settings. So a query has the
same id, the same topics and the same state, whichever of the two runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.config import APPLICATION_ID
from penstock.registry.registry import SchemaRegistry
from penstock.sql.engine import SqlEngine
from penstock.sql.functions.extensions import load_extensions
from penstock.sql.functions.user import UserFunction
from penstock.sql.setting_names import KSQL_PREFIX, STREAMS_PREFIX

#: The folder with functions in Python.
EXTENSIONS = "ksql.extension.dir"
#: Settings of the HTTP server, such as logins and limits. They must not reach Spark's workers.
_SERVER_PREFIX = "penstock.server."
#: ksqlDB's name for the address of the HTTP server.
LISTENERS = "listeners"


def new_engine(
    given: Mapping[str, Any],
    *,
    functions: tuple[UserFunction, ...] = (),
    registry: SchemaRegistry | None = None,
    extensions: Path | None = None,
) -> SqlEngine:
    """Return an engine with the functions of the user.

    Args:
        given: The settings that the user gave, by name.
        functions: Functions of the program.
        registry: The schema registry; by default, the one that the settings name.
        extensions: The folder with functions; by default, the one of ``ksql.extension.dir``.

    Raises:
        SqlError: a setting is unknown, or a file of functions cannot be loaded.
    """
    own = {name: value for name, value in given.items() if not name.startswith(_SERVER_PREFIX)}
    engine = SqlEngine(own, functions=functions, registry=registry)
    if extensions is None and given.get(EXTENSIONS):
        extensions = Path(str(given[EXTENSIONS])).expanduser()
    if extensions is not None:
        load_extensions(extensions, engine.functions)
    return engine


def cluster_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of Kafka, Kafka Streams and Spark for all queries.

    Names of Kafka Streams may have ksqlDB's prefix. If both are given, the one with the prefix
    wins.

    >>> cluster_settings({"ksql.service.id": "x", "ksql.streams.acks": "all", "linger.ms": 5})
    {'linger.ms': 5, 'acks': 'all'}
    """
    plain = {
        name: value
        for name, value in given.items()
        if not name.startswith((KSQL_PREFIX, _SERVER_PREFIX)) and name != LISTENERS
    }
    prefixed = {
        name.removeprefix(STREAMS_PREFIX): value
        for name, value in given.items()
        if name.startswith(STREAMS_PREFIX)
    }
    return {n: value for n, value in {**plain, **prefixed}.items() if n != APPLICATION_ID.name}
