"""Answers over ASGI: JSON with its headers, and errors with their status."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Send

from penstock.errors import (
    InvalidArgumentError,
    PenstockError,
    SerializationError,
    UnsupportedOperationError,
)
from penstock.model.remedies import declared
from penstock.serving.application import NoSuchCommitError, NotAvailableError
from penstock.serving.wire.models import ErrorModel

_log = logging.getLogger(__name__)

Header = tuple[bytes, bytes]

JSON_TYPE = b"application/json"
#: Caches must not keep an answer: it is out of date at once, and it may be private.
_ALWAYS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)
#: The same for a response of Starlette.
NO_STORE = {name.decode(): value.decode() for name, value in _ALWAYS}
_RETRY: tuple[Header, ...] = ((b"retry-after", b"1"),)
#: Codes of errors that say that there is no such thing.
_MISSING = frozenset({"unknown-store", "no-such-letter", "no-such-record"})
_BAD_REQUEST = (InvalidArgumentError, UnsupportedOperationError, SerializationError)

encoder = msgspec.json.Encoder()


def json_response(model: Any) -> Response:
    """Return the answer of a route: a model of the API."""
    return Response(encoder.encode(model), 200, NO_STORE, "application/json")


async def reply(
    send: Send,
    status: int,
    body: bytes,
    content_type: bytes = JSON_TYPE,
    headers: Iterable[Header] = (),
    *,
    is_head: bool = False,
) -> None:
    """Send a whole answer."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", content_type),
                (b"content-length", b"%d" % len(body)),
                *_ALWAYS,
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": b"" if is_head else body})


def problem(error: BaseException) -> tuple[int, ErrorModel, tuple[Header, ...]]:
    """Return status, text and headers for an error; unexpected errors are only logged.

    Their texts may contain keys or values of records.
    """
    if isinstance(error, NotAvailableError):
        return 503, ErrorModel(error.code, error.message, error.fix), _RETRY
    is_missing = isinstance(error, PenstockError) and error.code in _MISSING
    if is_missing or isinstance(error, NoSuchCommitError):
        assert isinstance(error, PenstockError)
        return 404, ErrorModel(error.code, error.message, error.fix), ()
    if isinstance(error, _BAD_REQUEST):
        return 400, ErrorModel(error.code, error.message, error.fix), ()
    if isinstance(error, TimeoutError):
        text = "the answer took longer than penstock.server.request.timeout.ms"
        return 504, ErrorModel("timed-out", text), _RETRY
    if isinstance(error, PenstockError) and declared(error).is_momentary:
        return 503, ErrorModel(error.code, error.message, error.fix), _RETRY
    _log.error("a question could not be answered", exc_info=error)
    code = error.code if isinstance(error, PenstockError) else "internal-error"
    return 500, ErrorModel(code, "the question could not be answered: see the server's log"), ()


async def refuse(
    send: Send,
    status: int,
    code: str,
    message: str,
    headers: Iterable[Header] = (),
) -> None:
    """Send an error that the server found itself."""
    await reply(send, status, encoder.encode(ErrorModel(code, message)), headers=headers)


async def reply_error(send: Send, error: BaseException, *, is_head: bool = False) -> None:
    status, model, headers = problem(error)
    await reply(send, status, encoder.encode(model), headers=headers, is_head=is_head)


def ascii_bytes(text: Any) -> bytes:
    """Return text as a header can have it."""
    plain = str(text).encode("ascii", "backslashreplace")
    return plain.replace(b"\r", b" ").replace(b"\n", b" ")
