"""The ASGI application over a ``Queryable``. It can be mounted into another one."""

from __future__ import annotations

import logging
import ssl
from concurrent.futures import ThreadPoolExecutor

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from penstock.errors import PenstockError
from penstock.serving.application import Queryable
from penstock.serving.feed_routes import FeedRoutes
from penstock.serving.guard import Guard
from penstock.serving.options import ServerOptions
from penstock.serving.peer_client import PeerClient
from penstock.serving.replies import encoder, problem, reply_error
from penstock.serving.status_routes import StatusRoutes
from penstock.serving.store_reader import StoreReader
from penstock.serving.store_routes import StoreRequest, StoreRoutes
from penstock.serving.wire.models import ErrorModel

_log = logging.getLogger(__name__)

_STORE_PATH = b"/stores/"
_CODES = {404: "not-found", 405: "read-only"}


class QueryApplication:
    """Answer HTTP requests and websockets about one application. Close it after the last one."""

    def __init__(
        self,
        application: Queryable,
        options: ServerOptions | None = None,
        peer_tls: ssl.SSLContext | None = None,
    ) -> None:
        options = options or ServerOptions()
        limits = options.limits
        self._threads = ThreadPoolExecutor(limits.threads, "penstock-serving")
        self._peers = PeerClient(peer_tls)
        reader = StoreReader(application, self._peers, self._threads)
        self._stores = StoreRoutes(application, reader, limits)
        status = StatusRoutes(application, self._stores, limits.request_s)
        self.feeds = FeedRoutes(application, self._stores, self._threads, limits.max_feeds)
        self._others = Starlette(
            routes=[
                *status.routes(),
                Route("/feeds/{store}", self.feeds.events, methods=["GET"]),
                WebSocketRoute("/feeds/{store}", self.feeds.websocket),
            ],
            exception_handlers={
                HTTPException: _not_found,
                PenstockError: _failed,
                TimeoutError: _failed,
                Exception: _failed,
            },
        )
        self._others.router.redirect_slashes = False
        self._guard = Guard(self._answer, options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._others(scope, receive, send)
            return
        await self._guard(scope, receive, send)

    def end_feeds(self) -> None:
        """End change feeds, which never end by themselves."""
        self.feeds.close()

    def close(self) -> None:
        """End feeds, connections to other instances and threads."""
        self.feeds.close()
        self._peers.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        path: bytes = scope["raw_path"] or scope["path"].encode()
        try:
            if is_http and path.startswith(_STORE_PATH):
                is_head = scope["method"] == "HEAD"
                request = StoreRequest(
                    path, scope["query_string"], scope["penstock.headers"], is_head
                )
                try:
                    await self._stores(request, send)
                except Exception as error:  # noqa: BLE001 - each has an answer
                    await reply_error(send, error, is_head=is_head)
            else:
                await self._others(scope, receive, send)
        except Exception:  # noqa: BLE001 - the caller has an answer, or is gone
            _log.debug("a connection ended early", exc_info=True)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    model = ErrorModel(_CODES.get(error.status_code, "bad-request"), error.detail)
    return Response(encoder.encode(model), error.status_code, error.headers, "application/json")


async def _failed(request: Request, error: Exception) -> Response:
    status, model, headers = problem(error)
    texts = {name.decode(): value.decode() for name, value in headers}
    return Response(encoder.encode(model), status, texts, "application/json")
