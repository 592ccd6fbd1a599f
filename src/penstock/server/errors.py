"""Errors of the server: each has the HTTP status and the code that ksqlDB's clients know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import PenstockError


class ServerError(PenstockError):
    """A request that the server refuses. ``status`` is HTTP's, ``error_code`` is ksqlDB's.

    ``statement`` is set if one statement is at fault, and ``entities`` has the results of the
    statements before it.
    """

    status = 500
    error_code = 50000

    def __init__(
        self,
        code: str,
        message: str,
        fix: str | None = None,
        at: str | None = None,
        statement: str | None = None,
        entities: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(code, message, fix, at)
        self.args = (code, message, fix, at, statement, entities)
        self.statement = statement
        self.entities = list(entities)


class BadRequestError(ServerError):
    """A malformed request: its body, a name or a setting is wrong."""

    status, error_code = 400, 40000


class BadStatementError(ServerError):
    """A statement that cannot be run as it is."""

    status, error_code = 400, 40001


class QueryEndpointError(ServerError):
    """A SELECT or PRINT that was sent to /ksql."""

    status, error_code = 400, 40002


class ForbiddenError(ServerError):
    """A caller whose role does not allow this."""

    status, error_code = 403, 40300


class NotFoundError(ServerError):
    """Something that was asked for does not exist."""

    status, error_code = 404, 40400


class AssertionFailedError(ServerError):
    """An ASSERT that does not hold."""

    status, error_code = 417, 41700


class BusyError(ServerError):
    """Too many requests of one kind at a time."""

    status, error_code = 429, 42900


class NotCaughtUpError(ServerError):
    """This node has not yet run the command that the request waits for."""

    status, error_code = 503, 50301


class NotReadyError(ServerError):
    """The node cannot take statements now: it starts, ends, or its command topic is damaged."""

    status, error_code = 503, 50302


class TooLargeError(ServerError):
    """A request whose body is larger than the server takes."""

    status, error_code = 413, 41300


class ShutDownError(ServerError):
    """The cluster was terminated."""

    status, error_code = 503, 50304
