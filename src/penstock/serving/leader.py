"""Questions that only the instance that processes can answer, asked of one that stands by."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.errors import PenstockError
from penstock.serving.application import NotAvailableError, Queryable
from penstock.serving.peer_client import PeerClient, PeerStream
from penstock.serving.store_reader import FORWARDED

_log = logging.getLogger(__name__)

#: Samples, commits, and what stream threads see: an instance that stands by has none of its own.
_PATHS = ("/status", "/commits", "/changes", "/history", "/journeys")
#: Headers of a caller that the leader has to know: who it is, and where its feed goes on.
_PASSED = (b"authorization", b"accept", b"last-event-id")
#: Headers that are about one connection.
_OWN = {b"connection", b"transfer-encoding", b"content-length", b"keep-alive", b"date", b"server"}


class LeaderFirst:
    """Pass the questions about what happens now on to the leader; answer all others here.

    So every instance shows the whole application. While there is no leader, or it cannot be
    reached, the instance that was asked answers by itself.
    """

    def __init__(self, inner: ASGIApp, application: Queryable, peers: PeerClient) -> None:
        self._inner = inner
        self._application = application
        self._peers = peers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leader = self._leader(scope)
        if leader is None or not await self._forwarded(leader, scope, receive, send):
            await self._inner(scope, receive, send)

    def _leader(self, scope: Scope) -> str | None:
        """Return the address of the instance that should answer instead of this one."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        if (
            not _is_of_leader(scope["path"], scope["query_string"])
            or FORWARDED in scope["penstock.headers"]
        ):
            return None
        try:
            instances = self._application.instances()
        except PenstockError:
            # An application that starts does not know them yet.
            return None
        leader = next((each for each in instances if each.is_leader), None)
        if leader is None or leader.id == self._application.instance_id:
            return None
        return leader.address

    async def _forwarded(self, leader: str, scope: Scope, receive: Receive, send: Send) -> bool:
        """Ask the leader; false if it cannot be asked, and nothing has been sent."""
        headers: Mapping[bytes, bytes] = scope["penstock.headers"]
        passed = {name: headers[name] for name in _PASSED if name in headers}
        passed[FORWARDED] = self._application.instance_id.encode("ascii", "backslashreplace")
        path: bytes = scope["raw_path"] or scope["path"].encode()
        query: bytes = scope["query_string"]
        target = path + b"?" + query if query else path
        async with contextlib.AsyncExitStack() as open_:
            try:
                answer = await open_.enter_async_context(self._peers.stream(leader, target, passed))
            except NotAvailableError as error:
                _log.debug("the leader cannot be asked: %s", error)
                return False
            await send(_start(answer.status, answer.headers, leader))
            await _until_gone(_pass_on(answer, send), receive)
        return True


async def _pass_on(answer: PeerStream, send: Send) -> None:
    # A feed that ends early is opened again by its reader.
    with contextlib.suppress(NotAvailableError):
        async for piece in answer.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _until_gone(passing_on: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Run until the answer has ended, or its reader is gone."""
    work = asyncio.create_task(passing_on)
    gone = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        work.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _is_of_leader(path: str, query: bytes) -> bool:
    if path.startswith("/stores/"):
        # The present is answered by who has it; only the leader knows where commits ended.
        return b"commit=" in query
    return any(path == each or path.startswith(each + "/") for each in _PATHS)


def _start(status: int, headers: Mapping[bytes, bytes], leader: str) -> Message:
    passed = [(name, value) for name, value in headers.items() if name not in _OWN]
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [*passed, (b"penstock-answered-by", leader.encode("ascii", "replace"))],
    }
