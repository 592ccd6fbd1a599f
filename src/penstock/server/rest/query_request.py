"""Requests of queries: the bodies of /query and /query-stream, and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.types import Receive, Scope

from penstock.errors import PenstockError
from penstock.model.sql.errors import SqlError
from penstock.server.applying import PASSING
from penstock.server.errors import BadRequestError, BadStatementError, ServerError
from penstock.server.security.masking import masked
from penstock.serving.credentials import Access, Caller


class QueryRequest(msgspec.Struct, rename="camel"):
    """A query to run. /query has ``ksql`` and ``streamsProperties``, /query-stream other names.

    Both endpoints take the names of both.
    """

    ksql: str | None = None
    sql: str | None = None
    streams_properties: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None
    session_variables: dict[str, Any] | None = None
    request_properties: dict[str, Any] | None = None
    command_sequence_number: int | None = None

    @property
    def statement(self) -> str:
        return self.sql or self.ksql or ""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that are in force for this query."""
        return self.properties or self.streams_properties or {}

    @property
    def variables(self) -> dict[str, str]:
        given = self.session_variables
        return {name.upper(): str(value) for name, value in given.items()} if given else {}

    @property
    def request(self) -> Mapping[str, Any]:
        """The properties that concern this request only, such as tokens."""
        return self.request_properties or {}


#: Codes of settings that a request may not have.
_SETTINGS = ("unknown-setting", "bad-setting", "fixed-setting")
_decode = msgspec.json.Decoder(QueryRequest).decode


def read_request(body: bytes) -> QueryRequest:
    """Return the request in a body.

    Raises:
        BadRequestError: ``bad-body``.
    """
    try:
        request = _decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadRequestError(
            "bad-body", f"the body is not the JSON of a query: {error}", fix="send an object"
        ) from None
    if not request.statement:
        raise BadRequestError(
            "bad-body", "the body has no text 'sql' or 'ksql'", fix="send the query there"
        )
    return request


def caller_of(scope: Scope) -> Caller:
    """Return the caller of a request, as the guard has stored it."""
    access = scope.get("penstock.access", Access.FULL)
    found: Caller = scope.get("penstock.caller") or Caller(access)
    return found


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request.

    Raises:
        ConnectionError: the caller has left before its end.
    """
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ConnectionError("the caller has left")
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts = [body]
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the caller has left")
        parts.append(message.get("body", b""))
    return b"".join(parts)


def refusal_of(error: BaseException, sql: str | None) -> BaseException:
    """Return an error as clients get it: ksqlDB's code, our text, and the statement."""
    if isinstance(error, ServerError):
        return error
    if isinstance(error, PenstockError) and error.code in PASSING:
        return ServerError(error.code, error.message, error.fix, statement=sql and masked(sql))
    if isinstance(error, SqlError) and error.code in _SETTINGS:
        # The properties of the request are wrong, and not its statement.
        return BadRequestError(error.code, error.message, error.fix)
    if isinstance(error, SqlError) and sql is not None:
        # The text has the place and the fix already.
        return BadStatementError(error.code, str(error), statement=masked(sql))
    if isinstance(error, PenstockError) and sql is not None:
        return BadStatementError(error.code, error.message, error.fix, statement=masked(sql))
    return error
