"""``/journeys``: the newest records of a topic, and one record's way through the topology."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

from msgspec import Raw
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.errors import PenstockError
from penstock.serving.application import NotAvailableError, Queryable
from penstock.serving.failed.parts import shown
from penstock.serving.feed_routes import EventStream, FeedRoutes
from penstock.serving.in_thread import in_thread
from penstock.serving.journey.journey import Journey, check_source, follow, newest_records
from penstock.serving.journey.live_journeys import LiveJourney, LiveJourneys
from penstock.serving.journey.models import (
    AccessModel,
    DropModel,
    JourneyModel,
    LiveTraceModel,
    LiveTracesModel,
    OriginModel,
    PickedRecordModel,
    PickedRecordsModel,
    SendingModel,
    StepModel,
)
from penstock.serving.journey.values import Access, Journeys, LiveTrace, Step, TopicRecord
from penstock.serving.options import Limits
from penstock.serving.parameters import LIVE_PARAMETERS, bad_request, parameters
from penstock.serving.past.models import CommitPointModel
from penstock.serving.replies import encoder, json_response, problem

_LIMIT = frozenset({"limit", "prefix"})
_DEFAULT_RECORDS, _MOST_RECORDS = 50, 200
_BUSY_S = 3.0
_NULL = Raw(b"null")


class JourneyRoutes:
    """Answer about single records. One journey at a time, because it runs the user's functions."""

    def __init__(self, application: Queryable, feeds: FeedRoutes, limits: Limits) -> None:
        self._application, self._feeds = application, feeds
        self._request_s = limits.request_s
        self._live = LiveJourneys(application, limits.request_s)
        self._running = threading.Lock()

    def routes(self) -> list[Route]:
        paths = {
            "/journeys": self.topics,
            "/journeys/{topic}": self.records,
            "/journeys/{topic}/live": self.live,
            "/journeys/{topic}/{partition}/{offset}": self.one,
        }
        return [Route(path, answer, methods=["GET"]) for path, answer in paths.items()]

    async def topics(self, request: Request) -> Response:
        parameters(request.scope["query_string"], frozenset())
        return json_response(await in_thread(self._topics, self._request_s))

    async def records(self, request: Request) -> Response:
        """Return the newest records; ``prefix`` is the beginning of the serialized key."""
        given = parameters(request.scope["query_string"], _LIMIT)
        limit = min(given.limit or _DEFAULT_RECORDS, _MOST_RECORDS)
        topic = request.path_params["topic"]
        return json_response(
            await in_thread(partial(self._records, topic, given.prefix, limit), self._request_s)
        )

    async def one(self, request: Request) -> Response:
        parameters(request.scope["query_string"], frozenset())
        given = request.path_params
        numbers = given["partition"], given["offset"]
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in numbers):
            raise bad_request("a record is named by a topic, a partition and an offset")
        place = given["topic"], int(numbers[0]), int(numbers[1])
        return json_response(await in_thread(partial(self._journey, place), self._request_s))

    async def live(self, request: Request) -> Response:
        """Send the traces of the next records as events ``traces``."""
        given = parameters(request.scope["query_string"], LIVE_PARAMETERS)
        self._feeds.check_limit()
        watching = self._live.watching(request.path_params["topic"], given)
        return EventStream(self._feeds, watching, self._events)

    async def _events(self, live: LiveJourney) -> AsyncIterator[bytes]:
        sites = await in_thread(self._sites, self._request_s)
        try:
            async for found in live.news():
                if found is None:
                    yield b": still here\n\n"
                    continue
                tools = live.tools()
                model = LiveTracesModel(
                    [_live_model(tools, each, sites) for each in found.traces], found.missed
                )
                yield b"event: traces\ndata: " + encoder.encode(model) + b"\n\n"
        except (PenstockError, TimeoutError) as error:
            _, problem_model, _ = problem(error)
            yield b"event: failure\ndata: " + encoder.encode(problem_model) + b"\n\n"

    # Called in a thread

    def _topics(self) -> PickedRecordsModel:
        topics = [*self._application.journeys().sources()]
        return PickedRecordsModel(self._application.application_id, topics, [], is_whole=True)

    def _records(self, topic: str, key: str | None, limit: int) -> PickedRecordsModel:
        tools = self._application.journeys()
        found, is_whole = newest_records(tools, topic, key, limit)
        records = [_picked(tools, record) for record in found]
        name = self._application.application_id
        return PickedRecordsModel(name, [*tools.sources()], records, is_whole)

    def _journey(self, place: tuple[str, int, int]) -> JourneyModel:
        tools = self._application.journeys()
        check_source(tools, place[0])
        if not self._running.acquire(timeout=_BUSY_S):
            raise NotAvailableError(
                "journey-busy", "another record is being followed", fix="ask again in a moment"
            )
        try:
            journey = follow(self._application, tools, place)
        finally:
            self._running.release()
        return _model(tools, journey, self._sites())

    def _sites(self) -> Mapping[str, str | None]:
        described: Mapping[str, Any] = self._application.topology()
        nodes = (node for part in described["subtopologies"] for node in part["nodes"])
        return {node["name"]: node.get("site") for node in nodes}


def _picked(tools: Journeys, record: TopicRecord) -> PickedRecordModel:
    of_keys, of_values = tools.sources()[record.topic]
    key, _ = shown(record.key, of_keys, record.topic)
    value, is_decoded = shown(record.value, of_values, record.topic)
    return PickedRecordModel(
        record.topic, record.partition, record.offset, record.timestamp, key, value, is_decoded
    )


def _model(tools: Journeys, journey: Journey, sites: Mapping[str, str | None]) -> JourneyModel:
    commit, trace = journey.commit, journey.trace
    return JourneyModel(
        record=_picked(tools, journey.record),
        commit=None if commit is None else CommitPointModel(commit.number, commit.at_ms),
        run_before=journey.run_before,
        is_processed=journey.is_processed,
        steps=[_step(step, sites) for step in trace.steps],
        dropped=[DropModel(node, reason) for node, reason in trace.dropped],
        error=trace.error,
        is_cut=trace.is_cut,
        notes=trace.notes,
    )


def _live_model(
    tools: Journeys, live: LiveTrace, sites: Mapping[str, str | None]
) -> LiveTraceModel:
    record, trace = live.record, live.trace
    is_first = (record.topic, record.partition, record.offset) == live.origin
    return LiveTraceModel(
        origin=OriginModel(*live.origin),
        task=live.task,
        record=_picked(tools, record) if is_first else None,
        steps=[_step(step, sites) for step in trace.steps],
        dropped=[DropModel(node, reason) for node, reason in trace.dropped],
        is_cut=trace.is_cut,
        notes=trace.notes,
    )


def _step(step: Step, sites: Mapping[str, str | None]) -> StepModel:
    return StepModel(
        id=step.id,
        parent=step.parent,
        node=step.node,
        site=sites.get(step.node),
        key=step.key,
        value=step.value,
        timestamp=step.timestamp,
        forwarded=step.forwarded,
        is_skipped=step.is_skipped,
        accesses=[_access(access) for access in step.accesses],
        sent=[
            SendingModel(each.topic, each.key, each.value, each.timestamp, each.is_internal)
            for each in step.sent
        ],
        dropped=step.dropped,
        error=step.error,
    )


def _access(access: Access) -> AccessModel:
    return AccessModel(
        store=access.store,
        operation=access.operation,
        key=access.key,
        value=access.value,
        before=access.before or _NULL,
        is_write=access.before is not None,
        window_start=access.window_start,
        is_known=access.is_known,
    )
