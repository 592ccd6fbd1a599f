"""``/feeds/{store}``: a change feed as server-sent events or over a websocket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from penstock.errors import PenstockError
from penstock.serving.application import NotAvailableError, Queryable
from penstock.serving.feeds import Feed, change_model, events, since
from penstock.serving.parameters import bad_request
from penstock.serving.replies import encoder, problem
from penstock.serving.store_routes import StoreRoutes

T = TypeVar("T")

#: A reader that takes nothing for this many seconds is disconnected.
_SEND_S = 30.0
_POLICY, _OVERFLOW, _FAILED, _GOING_AWAY = 1008, 1013, 1011, 1001
_EVENT_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class FeedRoutes:
    """Open feeds, up to a limit, and end all of them when the server stops."""

    def __init__(
        self,
        application: Queryable,
        stores: StoreRoutes,
        threads: ThreadPoolExecutor,
        most: int,
    ) -> None:
        self._application = application
        self._stores = stores
        self._threads = threads
        self._most = most
        self._writers: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """End all feeds; only on the event loop."""
        for writer in list(self._writers):
            writer.cancel()

    async def events(self, request: Request) -> Response:
        unknown = set(request.query_params) - {"since"}
        if unknown:
            raise bad_request(f"there is no parameter {min(unknown)[:80]!r} here")
        place = request.headers.get("last-event-id") or request.query_params.get("since")
        return EventStream(self, self._feed(request.path_params["store"], place), events)

    async def websocket(self, websocket: WebSocket) -> None:
        try:
            place = websocket.query_params.get("since")
            feed = self._feed(websocket.path_params["store"], place)
        except PenstockError as error:
            _, model, _ = problem(error)
            await websocket.close(_POLICY, model.code)
            return
        try:
            async with feed:
                await websocket.accept()
                await self.pump(_messages(websocket, feed), _until_gone(websocket.receive))
        except NotAvailableError as error:
            await websocket.close(_OVERFLOW, error.code)
            return
        code = _OVERFLOW if feed.has_overflowed else _GOING_AWAY
        if feed.failure is not None:
            code = _FAILED
        with contextlib.suppress(RuntimeError, OSError, WebSocketDisconnect):
            await websocket.close(code, feed.position_text[:100])

    async def pump(
        self, writing: Coroutine[Any, Any, None], reading: Coroutine[Any, Any, None]
    ) -> None:
        """Write a feed until it ends, the reader is gone, or the server stops."""
        writer, reader = asyncio.ensure_future(writing), asyncio.ensure_future(reading)
        self._writers.add(writer)
        try:
            await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
        finally:
            writer.cancel()
            reader.cancel()
            await asyncio.gather(writer, reader, return_exceptions=True)
            self._writers.discard(writer)

    def _feed(self, store: str, place: str | None) -> Feed:
        info = self._stores.info(store)
        feed = Feed(self._application, info, since(place, info), self._threads)
        self.check_limit()
        return feed

    def check_limit(self) -> None:
        """Refuse another feed if there are as many as the settings allow."""
        if len(self._writers) >= self._most:
            raise NotAvailableError(
                "too-many-feeds",
                f"{self._most} feeds are open, which is the limit",
                fix="close one, or raise penstock.server.max.feeds",
            )


class EventStream(Response, Generic[T]):
    """Server-sent events. Starlette's own stream notices a reader that left only when it writes.

    Args:
        routes: end all streams when the server stops.
        source: is entered before the first event: if that fails, the answer is an error.
        lines: return the events of what ``source`` returned.
    """

    def __init__(
        self,
        routes: FeedRoutes,
        source: AbstractAsyncContextManager[T],
        lines: Callable[[T], AsyncIterator[bytes]],
    ) -> None:
        super().__init__()
        self._routes, self._source, self._lines = routes, source, lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": _EVENT_HEADERS}
        async with self._source as source:
            await send(start)
            if scope["method"] != "HEAD":
                await self._routes.pump(_write(self._lines(source), send), _until_gone(receive))
        with contextlib.suppress(OSError, RuntimeError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _write(lines: AsyncIterator[bytes], send: Send) -> None:
    async for text in lines:
        async with asyncio.timeout(_SEND_S):
            await send({"type": "http.response.body", "body": text, "more_body": True})


async def _messages(websocket: WebSocket, feed: Feed) -> None:
    await websocket.send_text(f'{{"since":"{feed.position_text}"}}')
    async for bunch in feed.bunches():
        for change in bunch:
            text = encoder.encode(change_model(feed.info, change)).decode()
            async with asyncio.timeout(_SEND_S):
                await websocket.send_text(text)


async def _until_gone(receive: Receive) -> None:
    """Wait until the reader has left; ignore everything else that it sends."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while not (await receive())["type"].endswith("disconnect"):
            pass
