"""``/feeds/{store}``: a change feed as server-sent events or over a websocket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from penstock.errors import PenstockError
from penstock.serving.application import NotAvailableError, Queryable
from penstock.serving.feeds import Feed, change_model, events, since
from penstock.serving.parameters import bad_request
from penstock.serving.replies import encoder, problem
from penstock.serving.store_routes import StoreRoutes

#: A reader that takes nothing for so long is cut off.
_SEND_S = 30.0
_POLICY, _OVERFLOW, _GOING_AWAY = 1008, 1013, 1001
_SSE_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class FeedRoutes:
    """Opens feeds, up to a limit, and ends all of them when the server stops."""

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
        self._readers: set[asyncio.Task[Any]] = set()

    @property
    def open_feeds(self) -> int:
        return len(self._readers)

    def close(self) -> None:
        for task in list(self._readers):
            task.cancel()

    async def events(self, request: Request) -> Response:
        place = request.headers.get("last-event-id") or request.query_params.get("since")
        unknown = set(request.query_params) - {"since"}
        if unknown:
            raise bad_request(f"there is no parameter {min(unknown)[:80]!r} here")
        feed = self._feed(request.path_params["store"], place)
        self._check_room()
        return StreamingResponse(
            self._stream(feed), headers=_SSE_HEADERS, media_type="text/event-stream"
        )

    async def websocket(self, websocket: WebSocket) -> None:
        try:
            feed = self._feed(websocket.path_params["store"], websocket.query_params.get("since"))
            self._check_room()
        except PenstockError as error:
            _, model, _ = problem(error)
            await websocket.close(_POLICY, model.code)
            return
        await websocket.accept()
        writer = asyncio.ensure_future(self._messages(websocket, feed))
        reader = asyncio.ensure_future(_until_closed(websocket))
        with self._counted(writer):
            await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
            for task in (writer, reader):
                task.cancel()
            await asyncio.gather(writer, reader, return_exceptions=True)
        code = _OVERFLOW if feed.has_overflowed else _GOING_AWAY
        with contextlib.suppress(RuntimeError, OSError, WebSocketDisconnect):
            await websocket.close(code, feed.position_text[:100])

    def _feed(self, store: str, place: str | None) -> Feed:
        info = self._stores.info(store)
        return Feed(self._application, info, since(place, info), self._threads)

    def _check_room(self) -> None:
        if len(self._readers) >= self._most:
            raise NotAvailableError(
                "too-many-feeds",
                f"{self._most} feeds are open, which is the most",
                fix="close one, or raise penstock.server.max.feeds",
            )

    @contextlib.contextmanager
    def _counted(self, task: asyncio.Task[Any]) -> Iterator[None]:
        self._readers.add(task)
        try:
            yield
        finally:
            self._readers.discard(task)

    async def _stream(self, feed: Feed) -> AsyncIterator[bytes]:
        task = asyncio.current_task()
        assert task is not None
        with self._counted(task):
            async with feed:
                async for text in events(feed):
                    yield text

    async def _messages(self, websocket: WebSocket, feed: Feed) -> None:
        async with feed:
            await websocket.send_text(f'{{"since":"{feed.position_text}"}}')
            async for bunch in feed.bunches():
                for change in bunch:
                    text = encoder.encode(change_model(feed.info, change)).decode()
                    async with asyncio.timeout(_SEND_S):
                        await websocket.send_text(text)


async def _until_closed(websocket: WebSocket) -> None:
    """Read what the other side sends, which is nothing but its end."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass
