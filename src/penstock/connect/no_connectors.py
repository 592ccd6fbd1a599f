"""A Kafka Connect without connectors: what a service has before its first CREATE CONNECTOR."""

from __future__ import annotations

from penstock.connect.connect import ConnectorInfo, ConnectorState
from penstock.connect.errors import UnknownConnectorError

_NOT_FOUND = 404


class NoConnectors:
    """Answers questions about connectors when no worker has to run for that."""

    def connectors(self) -> list[str]:
        return []

    def describe(self, name: str) -> ConnectorInfo:
        raise unknown_connector(name)

    def status(self, name: str) -> ConnectorState:
        raise unknown_connector(name)

    def topics(self, name: str) -> list[str]:
        raise unknown_connector(name)

    def delete(self, name: str) -> None:
        raise unknown_connector(name)


def unknown_connector(name: str) -> UnknownConnectorError:
    """Return the error of every request about a connector that does not exist."""
    return UnknownConnectorError(
        "unknown-connector",
        f"there is no connector {name!r}",
        "SHOW CONNECTORS lists them",
        status=_NOT_FOUND,
    )
