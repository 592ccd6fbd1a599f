"""Errors of the client: what the server refused, or why it was not reached."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import PenstockError

#: Stable codes for ksqlDB's numbers. Other numbers are named by their HTTP status.
_CODES = {
    40000: "bad-request",
    40001: "bad-statement",
    40002: "query-endpoint",
    40003: "max-push-queries",
    40004: "http2-only",
    40100: "unauthorized",
    40300: "forbidden",
    40301: "forbidden-kafka-access",
    40400: "not-found",
    41700: "assertion-failed",
    42900: "too-many-requests",
    50000: "server-error",
    50300: "server-not-ready",
    50301: "not-caught-up",
    50302: "server-not-ready",
    50303: "server-shutting-down",
    50304: "server-shut-down",
}
_STATUS_CODES = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    429: "too-many-requests",
    503: "server-not-ready",
}
_FIXES = {
    "unauthorized": "give the client a user and a password, or a token",
    "forbidden": "ask for a role that may do this",
    "http2-only": "give the client http2=True",
    "not-caught-up": "ask again in a moment: the server still runs an earlier command",
    "query-endpoint": "use execute_query or stream_query for SELECT",
}
#: Penstock's server names its own code and its place, ksqlDB's only the place.
_NAMED_CODE = re.compile(r"\[([a-z][\w-]*)\] ")
_PLACE = re.compile(r"(?:\n  at:  |^)line (\d+)(?:, column |:)(\d+)(?:: ?)?")


class ClientError(PenstockError):
    """A call of the client failed."""


class ServerUnreachableError(ClientError):
    """The server did not answer: it is unreachable, too slow, or broke off the answer."""


class RequestRefusedError(ClientError):
    """The server answered with an error.

    ``error_code`` is ksqlDB's number (40001 for a bad statement), ``status`` the HTTP status,
    ``statement`` the text that was refused, ``place`` the line and column in it, both from 1, if
    the server names them, ``entities`` the results of the statements before it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        fix: str | None = None,
        at: str | None = None,
        error_code: int = 0,
        status: int = 0,
        statement: str | None = None,
        entities: Sequence[Mapping[str, Any]] = (),
        place: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(code, message, fix, at)
        self.args = (code, message, fix, at, error_code, status, statement, entities, place)
        self.error_code = error_code
        self.status = status
        self.statement = statement
        self.entities = tuple(entities)
        self.place = place

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.statement:
            lines.append(f"  statement: {' '.join(self.statement.split())}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class InsertError(ClientError):
    """A row was not written. ``seq`` is its number in the stream of rows, from 0."""

    def __init__(
        self,
        code: str,
        message: str,
        fix: str | None = None,
        at: str | None = None,
        seq: int = 0,
        error_code: int = 0,
    ) -> None:
        super().__init__(code, message, fix, at)
        self.args = (code, message, fix, at, seq, error_code)
        self.seq = seq
        self.error_code = error_code


def refusal(status: int, body: Any, statement: str | None = None) -> RequestRefusedError:
    """Return the error for an answer: ksqlDB's error object, or anything else as text."""
    data = body if isinstance(body, Mapping) else {}
    number = int(data.get("error_code") or status * 100)
    given = str(data.get("message") or (body if isinstance(body, str) else "")).strip()
    text, _, fix = given.partition("\n  fix: ")
    place = _PLACE.search(text)
    if place is not None:
        # Lines below the place show the statement, which the caller has.
        text = text[: place.start()] or text[place.end() :]
    named = _NAMED_CODE.match(text)
    code = named[1] if named else code_of(number)
    return RequestRefusedError(
        code,
        text[named.end() if named else 0 :] or f"the server answered with status {status}",
        fix.partition("\n")[0] or _FIXES.get(code),
        None,
        number,
        status,
        data.get("statementText") or statement,
        data.get("entities") or (),
        None if place is None else (int(place[1]), int(place[2])),
    )


def code_of(error_code: int) -> str:
    """Return the stable code of one of ksqlDB's error numbers.

    >>> code_of(40001), code_of(40199)
    ('bad-statement', 'unauthorized')
    """
    status = error_code // 100
    known = _CODES.get(error_code) or _STATUS_CODES.get(status)
    return known or ("server-error" if status >= 500 else "bad-request")
