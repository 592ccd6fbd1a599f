"""Answers and errors over HTTP, as ksqlDB's clients expect them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from penstock.errors import PenstockError
from penstock.server.applying import PASSING
from penstock.server.errors import BadRequestError, ServerError

_log = logging.getLogger("penstock.server")

V1_JSON = "application/vnd.ksql.v1+json"
JSON = "application/json"
_ANY = ("*/*", "application/*")
_ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def _plain(value: Any) -> Any:
    return str(value)


def json_reply(
    data: Any, status: int = 200, headers: Mapping[str, str] | None = None, media: str = JSON
) -> Response:
    """Return data as JSON."""
    body = orjson.dumps(data, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, status, {**_ALWAYS, **(headers or {})}, media)


def accepted(header: str | None) -> list[str]:
    """Return the media types of an Accept header, the one with the greatest weight first.

    >>> accepted("application/json; q=0.5, text/html;q=0, application/vnd.ksql.v1+json")
    ['application/vnd.ksql.v1+json', 'application/json']
    """
    weighted = []
    for part in (header or "*/*").split(","):
        name, *parameters = part.split(";")
        weight = _weight(parameters)
        if weight > 0:
            weighted.append((weight, name.strip().lower()))
    # Of equal weights the first one counts, as the sort is stable.
    return [name for _, name in sorted(weighted, key=lambda each: -each[0])]


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            with contextlib.suppress(ValueError):
                return float(value)
    return 1.0


def media_type(request: Request) -> str | None:
    """Return the media type of the answer; None if the caller accepts none of the server's."""
    for name in accepted(request.headers.get("accept")):
        if name in _ANY or name == JSON:
            return JSON
        if name in (V1_JSON, "application/vnd.ksql+json"):
            return V1_JSON
    return None


def not_acceptable() -> Response:
    text = f"the server answers with {V1_JSON} and {JSON}"
    return json_reply({"@type": "generic_error", "error_code": 40600, "message": text}, 406)


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request's body.

    Raises:
        BadRequestError: ``bad-body``.
    """
    body = await request.body()
    try:
        data = orjson.loads(body or b"{}")
    except ValueError:
        raise BadRequestError(
            "bad-body", "the body is not JSON", fix="send a JSON object"
        ) from None
    if not isinstance(data, dict):
        raise BadRequestError("bad-body", "the body is not a JSON object", fix="send one")
    return data


def error_body(error: ServerError) -> dict[str, Any]:
    """Return an error as ksqlDB writes it."""
    message = error.message if error.fix is None else f"{error.message}\n  fix: {error.fix}"
    common = {"error_code": error.error_code, "message": message}
    if error.statement is None:
        return {"@type": "generic_error", **common}
    return {
        "@type": "statement_error",
        **common,
        "statementText": error.statement,
        "entities": error.entities,
    }


def error_reply(error: BaseException) -> Response:
    """Return the answer to a request that failed; an unexpected error is logged, not shown."""
    if isinstance(error, ServerError):
        headers = {"retry-after": "1"} if error.status == 503 else {}
        return json_reply(error_body(error), error.status, headers)
    if isinstance(error, PenstockError) and error.code in PASSING:
        return error_reply(ServerError(error.code, error.message, error.fix))
    if isinstance(error, PenstockError):
        return json_reply(error_body(BadRequestError(error.code, error.message, error.fix)), 400)
    _log.error("a request could not be answered", exc_info=error)
    body = {
        "@type": "generic_error",
        "error_code": 50000,
        "message": "the request could not be answered: see the server's log",
    }
    return json_reply(body, 500)


class WatchedSend:
    """Pass messages on, and remember whether the answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_started = False

    async def __call__(self, message: Any) -> None:
        self.has_started = True
        await self._send(message)


Handler = Callable[[Request], Any]


def answering(handler: Handler) -> Callable[[Request], Any]:
    """Wrap a handler: what it returns is sent as JSON, and what it raises as ksqlDB's errors."""

    async def answer(request: Request) -> Response:
        media = media_type(request)
        if media is None:
            return not_acceptable()
        try:
            data = await handler(request)
        except Exception as error:  # noqa: BLE001 - each has an answer
            return error_reply(error)
        return data if isinstance(data, Response) else json_reply(data, media=media)

    return answer
