"""Check each request before a route answers it: its size, its credentials, its Host header."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.serving.console.files import is_console_path
from penstock.serving.credentials import Access
from penstock.serving.failed.failed_routes import REDRIVE_PATH
from penstock.serving.options import ServerOptions
from penstock.serving.plan.plan_routes import PLAN_PATH
from penstock.serving.replies import Header, refuse

_READING = ("GET", "HEAD")
_OPEN_PATHS = ("/health/live", "/health/ready")
#: What may be asked with POST, and what a caller has to be allowed for it.
_POSTED = {REDRIVE_PATH: Access.WRITE, PLAN_PATH: Access.READ}


class Guard:
    """Pass on what is allowed, with ``penstock.access`` and ``penstock.headers`` in the scope."""

    def __init__(self, inner: ASGIApp, options: ServerOptions) -> None:
        self._inner = inner
        self._credentials = options.credentials
        self._most_bytes = options.limits.request_bytes
        self._names = options.names | {"localhost", options.host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refusal = self._refusal(scope, headers)
        if refusal is None:
            scope["penstock.headers"] = headers
            await self._inner(scope, receive, send)
        elif scope["type"] == "websocket":
            # A connection that is closed before it is accepted is answered 403.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            status, code, message, more = refusal
            await refuse(send, status, code, message, more)

    def _refusal(
        self, scope: Scope, headers: Mapping[bytes, bytes]
    ) -> tuple[int, str, str, tuple[Header, ...]] | None:
        too_large = self._too_large(scope, headers)
        if too_large is not None:
            return too_large
        credentials = self._credentials
        caller = credentials.caller(headers.get(b"authorization"))
        access = caller.access
        scope["penstock.access"], scope["penstock.caller"] = access, caller
        is_open = scope["path"] in _OPEN_PATHS or is_console_path(scope["path"])
        if access is Access.NONE and not is_open:
            challenge = ((b"www-authenticate", credentials.challenge.encode()),)
            return 401, "unauthorized", "a token or a user is missing, or is wrong", challenge
        if credentials.is_anonymous and not is_own_name(headers.get(b"host"), self._names):
            # DNS rebinding: a page of another site whose name now resolves to this server must not
            # read its answers.
            return 403, "unknown-host", "the Host header does not name this server", ()
        if scope["type"] == "websocket":
            if not is_same_origin(headers):
                return 403, "other-origin", "a page of another site may not read this feed", ()
            return None
        if scope["method"] not in _READING:
            return self._write_refusal(scope, headers, access)
        return None

    @staticmethod
    def _write_refusal(
        scope: Scope, headers: Mapping[bytes, bytes], access: Access
    ) -> tuple[int, str, str, tuple[Header, ...]] | None:
        needed = _POSTED.get(scope["path"]) if scope["method"] == "POST" else None
        if access < (needed or Access.FULL):
            return 403, "read-only", "only reading is allowed with these credentials", ()
        if not is_same_origin(headers):
            # A browser adds the name and the password of a user by itself.
            return 403, "other-origin", "a page of another site may not write here", ()
        if needed is None:
            return 405, "read-only", "there is nothing here to write", ((b"allow", b"GET, HEAD"),)
        return None

    def _too_large(
        self, scope: Scope, headers: Mapping[bytes, bytes]
    ) -> tuple[int, str, str, tuple[Header, ...]] | None:
        most = self._most_bytes
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > most:
            return 414, "too-large", f"the URL has more than {most} bytes", ()
        if sum(len(name) + len(value) for name, value in scope["headers"]) > most:
            return 431, "too-large", f"the headers have more than {most} bytes", ()
        size = headers.get(b"content-length", b"0")
        if not size.isdigit() or int(size[:20]) > most:
            return 413, "too-large", f"the body has more than {most} bytes", ()
        return None


@lru_cache(256)
def is_own_name(host: bytes | None, names: frozenset[str]) -> bool:
    """Return whether the header ``Host`` has an IP address, or one of the server's names."""
    if host is None:
        return True
    name = host.decode("latin-1").lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    return name in names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request comes from a page of this server, or from no web page at all."""
    origin = headers.get(b"origin")
    if origin is None:
        return True
    try:
        netloc = urlsplit(origin.decode("latin-1")).netloc
    except ValueError:
        return False
    return netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()
