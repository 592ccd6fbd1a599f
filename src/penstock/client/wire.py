"""Requests of the SQL server's protocol as data, and the lines of its answers.

Nothing here opens a connection: ``penstock.client.sync_client`` and
``penstock.client.async_client`` send what these functions return.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import orjson

from penstock.client.errors import ClientError, refusal

JSON_TYPE = "application/vnd.ksql.v1+json"
DELIMITED_TYPE = "application/vnd.ksqlapi.delimited.v1"
CHANGES_TYPE = "application/vnd.penstock.changes.v1"

Properties = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request: method, path, body and the media type of the answer."""

    method: str
    path: str
    body: bytes | None = None
    accept: str = JSON_TYPE
    #: The SQL of the request, which errors show.
    statement: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        headers = {"accept": self.accept}
        if self.body is not None:
            headers["content-type"] = "application/json"
        return headers


def statements(
    sql: str,
    properties: Properties,
    variables: Mapping[str, Any],
    sequence: int | None = None,
) -> Request:
    """Return the request that runs statements other than SELECT and PRINT."""
    body: dict[str, Any] = {
        "ksql": sql,
        "streamsProperties": dict(properties),
        "sessionVariables": dict(variables),
    }
    if sequence is not None:
        body["commandSequenceNumber"] = sequence
    return Request("POST", "/ksql", orjson.dumps(body), statement=sql)


def query(
    sql: str,
    properties: Properties,
    variables: Mapping[str, Any],
    *,
    has_deletions: bool = False,
) -> Request:
    """Return the request that runs one SELECT or PRINT and streams its rows.

    With ``has_deletions`` the request also asks for the rows that a table loses. ksqlDB's server
    cannot send them and answers without them.
    """
    body = {"sql": sql, "properties": dict(properties), "sessionVariables": dict(variables)}
    accept = f"{CHANGES_TYPE}, {DELIMITED_TYPE}" if has_deletions else DELIMITED_TYPE
    return Request("POST", "/query-stream", orjson.dumps(body), accept, sql)


def close_query(query_id: str) -> Request:
    """Return the request that ends a push query."""
    return Request("POST", "/close-query", orjson.dumps({"queryId": query_id}))


def inserts(target: str, rows: Iterable[Mapping[str, Any]]) -> Request:
    """Return the request that writes rows to a stream or table."""
    lines = [orjson.dumps({"target": target}), *(orjson.dumps(row) for row in rows)]
    return Request("POST", "/inserts-stream", b"\n".join(lines) + b"\n", DELIMITED_TYPE)


def get(path: str) -> Request:
    return Request("GET", path)


def valid_property(name: str) -> Request:
    """Return the request that asks whether a property may be set."""
    return get(f"/is_valid_property/{quote(name, safe='')}")


def command_status(command_id: str) -> Request:
    """Return the request for the status of a command such as ``stream/ORDERS/create``."""
    return get(f"/status/{quote(command_id)}")


def parsed(status: int, content: bytes, request: Request) -> Any:
    """Return the JSON of an answer.

    Raises:
        RequestRefusedError: the status says that the request failed.
        ClientError: ``bad-answer``: the answer is not JSON.
    """
    try:
        body = orjson.loads(content) if content.strip() else None
    except orjson.JSONDecodeError:
        body = content.decode("utf-8", "replace")
        if status < 400:
            raise ClientError(
                "bad-answer",
                f"the answer to {request.method} {request.path} is not JSON: {body[:200]!r}",
                fix="is this the address of an SQL server?",
            ) from None
    if status >= 400:
        raise refusal(status, body, request.statement)
    return body


class Lines:
    """Cut the chunks of a streamed answer into lines; a line may arrive in several chunks."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without empty ones."""
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        return [line for line in whole if line.strip()]

    def end(self) -> list[bytes]:
        """Return the line that the end of the answer completes."""
        rest, self._rest = self._rest, b""
        return [rest] if rest.strip() else []


def loads(line: bytes, *, has_decimals: bool = False) -> Any:
    """Return the value of a line; with ``has_decimals`` numbers keep all their digits."""
    if has_decimals:
        return json.loads(line, parse_float=Decimal)
    return orjson.loads(line)
