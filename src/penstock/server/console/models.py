"""The JSON of the persistent queries of a server, as its console lists them."""

from __future__ import annotations

from msgspec import Struct


class QueryFailureModel(Struct, frozen=True):
    """One failure of a query; ``kind`` is USER, SYSTEM or UNKNOWN."""

    at_ms: int
    message: str
    kind: str


class ApplicationModel(Struct, frozen=True):
    """A persistent query, and what it does on this server."""

    id: str
    statement: str
    sources: list[str]
    sinks: list[str]
    #: RUNNING, PAUSED or ERROR
    status: str
    #: Whether this server runs it; then /applications/{query}/status says more.
    runs_here: bool
    #: Kafka Streams' state; null if it does not run here.
    state: str | None
    waiting: str | None
    records: int
    lag: int | None
    failures: list[QueryFailureModel]


class ApplicationsModel(Struct, frozen=True):
    """All persistent queries of a service."""

    service: str
    applications: list[ApplicationModel]
