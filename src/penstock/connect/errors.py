"""Errors about Kafka Connect. Every one has a code, a fix and, if Connect answered, its status."""

from __future__ import annotations

from penstock.errors import PenstockError


class ConnectError(PenstockError):
    """Kafka Connect refused a request, cannot be reached, or cannot be started.

    ``status`` is the HTTP status of Connect's answer; None if there was no answer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        fix: str | None = None,
        at: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(code, message, fix, at)
        self.args = (code, message, fix, at, status)
        self.status = status


class UnknownConnectorError(ConnectError):
    """There is no connector of that name."""


class ConnectorExistsError(ConnectError):
    """There is a connector of that name already."""
