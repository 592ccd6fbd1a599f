"""Check each request to the SQL server first: its size, its credentials, its Host and Origin."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.server.errors import TooLargeError
from penstock.server.rest.replies import json_reply
from penstock.serving.console.files import is_console_path
from penstock.serving.credentials import Access, Caller
from penstock.serving.guard import is_own_name, is_same_origin
from penstock.serving.options import ServerOptions

#: Paths that need no credentials: the probes of an orchestrator such as Kubernetes.
_OPEN_PATHS = ("/chc/live", "/chc/ready")
#: Paths whose body has no end: the route reads it row by row.
_STREAMED_PATHS = ("/inserts-stream",)

#: How much of a refused body is read, and for how long.
_DRAINED_BYTES = 16 * 1_048_576
_DRAINED_S = 5.0

Refusal = tuple[int, int, str, Mapping[str, str]]


class SqlGuard:
    """Pass on what is allowed, with ``penstock.access`` and ``penstock.caller`` in the scope.

    If the server has no credentials, every caller may do everything. Such a server listens only on
    loopback, unless ``penstock.server.allow.anonymous`` is set.
    """

    def __init__(self, inner: ASGIApp, options: ServerOptions) -> None:
        self._inner, self._options = inner, options
        self._names = options.names | {"localhost", options.host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        scope["penstock.headers"] = headers
        refusal = self._refusal(scope, headers)
        if refusal is None:
            await self._inner(scope, receive, send)
        elif scope["type"] == "websocket":
            # A connection that is closed before it is accepted is answered 403.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            status, code, message, more = refusal
            if scope["path"] not in _STREAMED_PATHS:
                await drained(receive)
            body = {"@type": "generic_error", "error_code": code, "message": message}
            await json_reply(body, status, more)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Refusal | None:
        too_large = self._too_large(scope, headers)
        if too_large is not None:
            return too_large
        credentials = self._options.credentials
        caller = Caller(Access.FULL)
        if not credentials.is_anonymous:
            caller = credentials.caller(headers.get(b"authorization"))
        scope["penstock.access"], scope["penstock.caller"] = caller.access, caller
        is_open = scope["path"] in _OPEN_PATHS or is_console_path(scope["path"])
        if caller.access is Access.NONE and not is_open:
            challenge = {"www-authenticate": credentials.challenge}
            return 401, 40100, "a token or a user is missing, or is wrong", challenge
        if credentials.is_anonymous and not is_own_name(headers.get(b"host"), self._names):
            # DNS rebinding: a page of another site whose name now resolves to this server must not
            # read its answers.
            return 403, 40300, "the Host header does not name this server", {}
        if not is_same_origin(headers):
            # A page of another site could make a user's browser run statements.
            return 403, 40300, "a page of another site may not ask this server", {}
        return None

    def _too_large(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Refusal | None:
        most = self._options.limits.request_bytes
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > most:
            return 414, 41400, f"the URL has more than {most} bytes", {}
        if sum(len(name) + len(value) for name, value in scope["headers"]) > most:
            return 431, 43100, f"the headers have more than {most} bytes", {}
        if scope["path"] in _STREAMED_PATHS:
            return None
        size = headers.get(b"content-length", b"0")
        if not size.isdigit() or int(size[:20]) > most:
            return 413, 41300, f"the body has more than {most} bytes", {}
        return None


async def drained(receive: Receive) -> None:
    """Read what is left of a body and throw it away, before a refusal is sent.

    If a server answers and closes while the client still sends, the client's system drops the
    answer, and the client sees a broken connection instead of 413. The server stops reading after
    ``_DRAINED_BYTES`` or ``_DRAINED_S``.
    """
    seen = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAINED_S):
            while seen <= _DRAINED_BYTES:
                message = await receive()
                seen += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    return


class BodyLimit:
    """Refuse a body that turns out to be too large, if the request does not state its length."""

    def __init__(self, inner: ASGIApp, most: int) -> None:
        self._inner, self._most = inner, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _STREAMED_PATHS:
            await self._inner(scope, receive, send)
            return
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._most:
                if message.get("more_body"):
                    await drained(receive)
                raise TooLargeError("too-large", f"the body has more than {self._most} bytes")
            return message

        await self._inner(scope, limited, send)
