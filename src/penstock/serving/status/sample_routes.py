"""``/status`` and what belongs to it: the newest sample, the last hour, a feed of samples."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.errors import PenstockError
from penstock.extras import package_version
from penstock.serving.application import Queryable
from penstock.serving.feed_routes import EventStream, FeedRoutes
from penstock.serving.in_thread import in_thread
from penstock.serving.parameters import bad_request
from penstock.serving.replies import NO_STORE, encoder, json_response
from penstock.serving.status.history import Observation
from penstock.serving.status.models import (
    HistoryModel,
    heat_model,
    point_model,
    program_model,
    status_model,
)
from penstock.serving.status.sampler import StatusSampler
from penstock.serving.status_routes import instance_model
from penstock.serving.wire.models import InstanceModel

_MOST_DIGITS = 18
#: A reader of the feed gets a sign of life after this many seconds without a sample.
_HEARTBEAT_S = 15.0


class SampleRoutes:
    """Answer with samples. All readers of the feed share one text of each sample.

    Args:
        application: the application that is sampled.
        sampler: takes the samples; its owner starts and closes it.
        feeds: counts the feeds, and ends them when the server stops.
        request_s: how long an answer may take.
    """

    def __init__(
        self, application: Queryable, sampler: StatusSampler, feeds: FeedRoutes, request_s: float
    ) -> None:
        self._application, self._sampler = application, sampler
        self._feeds, self._request_s = feeds, request_s
        self._version = package_version()
        #: The text of the newest sample. Its readers wait for another one.
        self._text: tuple[Observation, bytes] | None = None

    def routes(self) -> list[Route]:
        paths = {
            "/status": self.status,
            "/status/history": self.history,
            "/status/heat": self.heat,
            "/status/feed": self.feed,
            "/topology/program": self.program,
        }
        return [Route(path, answer, methods=["GET"]) for path, answer in paths.items()]

    async def status(self, request: Request) -> Response:
        _known(request)
        seen = await in_thread(self._sampler.latest, self._request_s)
        return Response(self._encoded(seen), 200, NO_STORE, "application/json")

    async def history(self, request: Request) -> Response:
        points = await in_thread(lambda: self._sampler.points(_since(request)), self._request_s)
        name = self._application.application_id
        return json_response(HistoryModel(name, [point_model(point) for point in points]))

    async def heat(self, request: Request) -> Response:
        points = await in_thread(lambda: self._sampler.points(_since(request)), self._request_s)
        return json_response(heat_model(self._application.application_id, points))

    async def program(self, request: Request) -> Response:
        _known(request)
        program = await in_thread(self._application.program, self._request_s)
        return json_response(program_model(self._application.application_id, program))

    async def feed(self, request: Request) -> Response:
        """Send each sample as an event ``status``; a reader that is slow misses some."""
        _known(request)
        self._feeds.check_limit()
        return EventStream(self._feeds, self._listening(), self._events)

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[_Newest]:
        newest = _Newest(asyncio.get_running_loop())
        newest.put(await in_thread(self._sampler.latest, self._request_s))
        end = self._sampler.listen(newest.put)
        try:
            yield newest
        finally:
            end()

    async def _events(self, newest: _Newest) -> AsyncIterator[bytes]:
        while True:
            seen = await newest.next(_HEARTBEAT_S)
            if seen is None:
                yield b": still here\n\n"
            else:
                yield b"event: status\ndata: " + self._encoded(seen) + b"\n\n"

    def _encoded(self, seen: Observation) -> bytes:
        """Return the JSON of a sample, written once for everyone who asks for it."""
        text = self._text
        if text is None or text[0] is not seen:
            application = self._application
            model = status_model(
                application.application_id, application.instance_id, self._version, seen,
                self._instances(),
            )  # fmt: skip
            text = self._text = seen, encoder.encode(model)
        return text[1]

    def _instances(self) -> list[InstanceModel]:
        # While an application starts, it does not know its instances.
        with contextlib.suppress(PenstockError):
            return [instance_model(each) for each in self._application.instances()]
        return []


class _Newest:
    """The newest sample for one reader. ``put`` is called from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_new = asyncio.Event()
        self._seen: Observation | None = None

    def put(self, seen: Observation) -> None:
        self._seen = seen
        # The loop ends before the sampler does.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._is_new.set)

    async def next(self, patience_s: float) -> Observation | None:
        """Return the newest sample that the reader has not got; None if there is none in time."""
        try:
            async with asyncio.timeout(patience_s):
                await self._is_new.wait()
        except TimeoutError:
            return None
        self._is_new.clear()
        return self._seen


def _known(request: Request, *names: str) -> None:
    unknown = set(request.query_params) - set(names)
    if unknown:
        raise bad_request(f"there is no parameter {min(unknown)[:80]!r} here")


def _since(request: Request) -> int:
    """Return the moment after which points are wanted, in milliseconds since the epoch."""
    _known(request, "since")
    text = request.query_params.get("since", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise bad_request("parameter 'since' is not a time in milliseconds")
    return int(text)
