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
from penstock.serving.console.files import console_routes
from penstock.serving.failed.failed_routes import FailedRoutes
from penstock.serving.feed_routes import FeedRoutes
from penstock.serving.guard import Guard
from penstock.serving.journey.journey_routes import JourneyRoutes
from penstock.serving.leader import LeaderFirst
from penstock.serving.options import ServerOptions
from penstock.serving.past.past_routes import PastRoutes
from penstock.serving.peer_client import PeerClient
from penstock.serving.plan.plan_routes import PlanRoutes
from penstock.serving.replies import encoder, problem, reply_error
from penstock.serving.status.sample_routes import SampleRoutes
from penstock.serving.status.sampler import StatusSampler
from penstock.serving.status_routes import StatusRoutes
from penstock.serving.store_reader import StoreReader
from penstock.serving.store_routes import StoreRequest, StoreRoutes
from penstock.serving.wire.models import ErrorModel

_log = logging.getLogger(__name__)

_STORE_PATH = b"/stores/"
_CODES = {403: "read-only", 404: "not-found", 405: "read-only", 413: "too-large"}


class QueryAnswers:
    """Answer requests about one application that somebody else has let in. Close it at the end.

    The scope has ``penstock.access`` and ``penstock.headers``, as ``Guard`` sets them.
    """

    def __init__(
        self,
        application: Queryable,
        options: ServerOptions | None = None,
        peer_tls: ssl.SSLContext | None = None,
    ) -> None:
        options = options or ServerOptions()
        limits = options.limits
        self._application = application
        self._threads = ThreadPoolExecutor(limits.threads, "penstock-serving")
        self._peers = PeerClient(peer_tls)
        reader = StoreReader(application, self._peers, self._threads)
        self._stores = StoreRoutes(application, reader, limits)
        self.feeds = FeedRoutes(application, self._stores, self._threads, limits.max_feeds)
        self._sampler = StatusSampler(application)
        about = StatusRoutes(application, self._stores, limits.request_s)
        past = PastRoutes(application, self._stores, limits.request_s)
        failed = FailedRoutes(application, limits)
        plans = PlanRoutes(application, limits)
        journeys = JourneyRoutes(application, self.feeds, limits)
        samples = SampleRoutes(application, self._sampler, self.feeds, limits.request_s)
        self._others = Starlette(
            routes=[
                *about.routes(),
                *samples.routes(),
                *past.routes(),
                *failed.routes(),
                *plans.routes(),
                *journeys.routes(),
                *console_routes(),
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
        self._answers = LeaderFirst(self._answer, application, self._peers)
        self._sampler.start()

    def end_feeds(self) -> None:
        """End change feeds, which never end by themselves."""
        self.feeds.close()

    def close(self) -> None:
        """End feeds, connections to other instances and threads."""
        self.feeds.close()
        self._sampler.close()
        self._application.close()
        self._peers.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._others(scope, receive, send)
            return
        try:
            await self._answers(scope, receive, send)
        except Exception:  # noqa: BLE001 - the caller has an answer, or is gone
            _log.debug("a connection ended early", exc_info=True)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: bytes = scope["raw_path"] or scope["path"].encode()
        if scope["type"] != "http" or not path.startswith(_STORE_PATH):
            await self._others(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        request = StoreRequest(path, scope["query_string"], scope["penstock.headers"], is_head)
        try:
            await self._stores(request, send)
        except Exception as error:  # noqa: BLE001 - each has an answer
            await reply_error(send, error, is_head=is_head)


class QueryApplication(QueryAnswers):
    """Answer HTTP requests and websockets about one application, after a check of each."""

    def __init__(
        self,
        application: Queryable,
        options: ServerOptions | None = None,
        peer_tls: ssl.SSLContext | None = None,
    ) -> None:
        options = options or ServerOptions()
        super().__init__(application, options, peer_tls)
        self._guard = Guard(super().__call__, options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
            return
        await self._guard(scope, receive, send)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    model = ErrorModel(_CODES.get(error.status_code, "bad-request"), error.detail)
    return Response(encoder.encode(model), error.status_code, error.headers, "application/json")


async def _failed(request: Request, error: Exception) -> Response:
    status, model, headers = problem(error)
    texts = {name.decode(): value.decode() for name, value in headers}
    return Response(encoder.encode(model), status, texts, "application/json")
