"""The names that completion offers, asked from the server in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.client.descriptions import SourceDescription
from penstock.client.sync_client import Client
from penstock.errors import PenstockError

_SOURCES = "SHOW STREAMS EXTENDED; SHOW TABLES EXTENDED;"


@dataclass(frozen=True, slots=True)
class CatalogWords:
    """Names of the server at one moment. Sources have their columns, with types."""

    streams: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()

    @property
    def sources(self) -> dict[str, Mapping[str, str]]:
        return {**self.streams, **self.tables}


class CatalogWatch:
    """Keep the names of a server: ``latest`` has them, ``refresh`` asks for them again.

    If the server does not answer, or refuses a listing, the known names stay; completion never
    raises an error.
    """

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client
        self.latest = CatalogWords()
        self._asks = threading.Lock()
        self._is_stale = threading.Event()

    def refresh(self) -> None:
        """Ask again in the background; a call during a request causes one more request after it."""
        self._is_stale.set()
        threading.Thread(target=self._run, name="penstock-completion", daemon=True).start()

    def _run(self) -> None:
        with self._asks:
            if self._is_stale.is_set():
                self._is_stale.clear()
                self.latest = read_words(self._client(), self.latest)


def read_words(client: Client, known: CatalogWords) -> CatalogWords:
    """Return the present names; a part that cannot be read stays as it was."""
    streams, tables = _sources(client, known)
    return CatalogWords(
        streams,
        tables,
        known.functions or _functions(client),
        _names(client, "SHOW TOPICS;", "topics", known.topics),
        _names(client, "SHOW QUERIES;", "queries", known.queries, "id"),
        _names(client, "SHOW CONNECTORS;", "connectors", known.connectors),
        known.properties or _names(client, "SHOW PROPERTIES;", "properties", ()),
    )


def _sources(client: Client, known: CatalogWords) -> tuple[Any, Any]:
    try:
        entities = client.entities(_SOURCES)
    except PenstockError:
        return known.streams, known.tables
    found: dict[str, dict[str, dict[str, str]]] = {"STREAM": {}, "TABLE": {}}
    for entity in entities:
        for data in entity.get("sourceDescriptions") or ():
            source = SourceDescription.of(data)
            columns = {each.name: each.type for each in source.fields}
            found.setdefault(source.kind, {})[source.name] = columns
    return found["STREAM"], found["TABLE"]


def _functions(client: Client) -> dict[str, str]:
    try:
        return {each.name: f"{each.kind.lower()} function" for each in client.list_functions()}
    except PenstockError:
        return {}


def _names(
    client: Client, sql: str, key: str, known: tuple[str, ...], name: str = "name"
) -> tuple[str, ...]:
    try:
        found = client.entities(sql)[0].get(key) or ()
    except (PenstockError, IndexError):
        return known
    return tuple(sorted(str(each[name] if isinstance(each, Mapping) else each) for each in found))
