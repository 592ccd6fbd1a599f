"""The OpenAPI document of the server, made from the models of ``penstock.serving.wire``."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from penstock.serving.failed.models import (
    FailedRecordDetailModel,
    FailedRecordsModel,
    RedriveModel,
    RedriveResultModel,
)
from penstock.serving.journey.models import JourneyModel, LiveTracesModel, PickedRecordsModel
from penstock.serving.parameters import (
    CHANGES_PARAMETERS,
    HISTORY_PARAMETERS,
    HOT_PARAMETERS,
    KEY_PARAMETERS,
    LIVE_PARAMETERS,
    LOCATION_PARAMETERS,
    SCAN_PARAMETERS,
)
from penstock.serving.past.models import (
    CommitsModel,
    DifferenceModel,
    HotKeysModel,
    KeyHistoryModel,
)
from penstock.serving.plan.models import PlanModel, PlanReportModel
from penstock.serving.status.models import HeatModel, HistoryModel, ProgramModel, StatusModel
from penstock.serving.wire.models import (
    AboutModel,
    EntryModel,
    ErrorModel,
    HealthModel,
    KeyLocationModel,
    MetadataModel,
    PageModel,
    StoresModel,
    TopologyModel,
)

_MODELS = (
    AboutModel, CommitsModel, DifferenceModel, EntryModel, ErrorModel, FailedRecordDetailModel,
    FailedRecordsModel, HealthModel, HeatModel, HistoryModel, HotKeysModel, JourneyModel,
    KeyHistoryModel, KeyLocationModel, LiveTracesModel, MetadataModel, PageModel,
    PickedRecordsModel, PlanModel, PlanReportModel, ProgramModel, RedriveModel,
    RedriveResultModel, StatusModel, StoresModel, TopologyModel,
)  # fmt: skip
_WHOLE = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_QUERY: dict[str, tuple[dict[str, Any], str]] = {
    "from": (_TEXT, "First key of a range, included; in the form of the store's keys."),
    "to": (_TEXT, "Last key of a range, included."),
    "prefix": (_TEXT, "Beginning of the serialized keys."),
    "reverse": (_FLAG, "Whether rows come in descending order."),
    "limit": ({"type": "integer", "minimum": 1, "maximum": 10_000}, "Most rows of the page."),
    "after": (
        {"type": "string", "pattern": "^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?$"},
        "Cursor of a row: the page begins after it.",
    ),
    "cursors": (_FLAG, "Whether each row has its cursor."),
    "time_from": (_WHOLE, "Windows that start at this time or later, in milliseconds."),
    "time_to": (_WHOLE, "Windows that start at this time or earlier, in milliseconds."),
    "as_of": (_WHOLE, "The value at this time; only for versioned stores."),
    "key_format": ({"type": "string", "enum": ["text", "base64"]}, "How keys are written."),
    "partitions": ({"type": "string", "pattern": "^[0-9]{1,5}(,[0-9]{1,5})*$"}, "Only these."),
    "stale": (_FLAG, "Whether a copy that may be behind can answer."),
    "max_lag": (_WHOLE, "Accept a copy that is at most this many changes behind."),
    "commit": (_WHOLE, "The state after this commit, one of those of /commits."),
    "first": (_WHOLE, "The earlier of two commits."),
    "second": (_WHOLE, "The later of two commits."),
    "key": (_TEXT, "Records of this key, in the form of the topic's keys; else of any key."),
    "every": ({"type": "integer", "minimum": 1}, "One of so many records that fit."),
}
_POSITION_BOUND = {
    "name": "Penstock-Position-Bound",
    "in": "header",
    "required": False,
    "description": "What the answer must contain: the Penstock-Position of an earlier answer.",
    "schema": {"type": "string"},
}
_SOURCE_HEADERS = {
    "Penstock-Source": ("owner, standby or replica", _TEXT),
    "Penstock-Instance": ("The instance that answered.", _TEXT),
    "Penstock-Lag": ("Changes that the copy has not seen.", _WHOLE),
    "Penstock-Position": ("What the copy has seen, as JSON.", _TEXT),
}


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document; it does not depend on the application."""
    return document()


def document(*more: type) -> dict[str, Any]:
    """Return the document with the schemas of some more models."""
    _, components = msgspec.json.schema_components(
        (*_MODELS, *more), ref_template="#/components/schemas/{name}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": "1",
            "description": "State, health and metrics of a running application.",
        },
        "paths": _paths(),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
        "security": [{}, {"bearer": []}, {"basic": []}],
    }


def _paths() -> dict[str, Any]:
    store, key = _path_parameter("store"), _path_parameter("key")
    either = {"oneOf": [_schema(EntryModel), _schema(PageModel)]}
    return {
        "/stores": _get("List the stores.", _schema(StoresModel)),
        "/stores/{store}": _get(
            "Read entries: all, a range, a prefix, or windows of a span.",
            _schema(PageModel),
            [store, *_query(SCAN_PARAMETERS), _POSITION_BOUND],
            is_read=True,
            has_source=True,
        ),
        "/stores/{store}/{key}": _get(
            "Read one key: its value, or its windows, sessions or versions.",
            either,
            [store, key, *_query(KEY_PARAMETERS), _POSITION_BOUND],
            is_read=True,
            has_source=True,
        ),
        "/commits": _get("List the commits that can be looked back at.", _schema(CommitsModel)),
        "/changes/{store}": _get(
            "Say what has changed in a store between two commits.",
            _schema(DifferenceModel),
            [store, *_query(CHANGES_PARAMETERS)],
            is_read=True,
        ),
        "/history/{store}/{key}": _get(
            "Return the changes of one key, newest first.",
            _schema(KeyHistoryModel),
            [store, key, *_query(HISTORY_PARAMETERS)],
            is_read=True,
        ),
        "/hot-keys/{store}": _get(
            "Return the keys that change most.",
            _schema(HotKeysModel),
            [store, *_query(HOT_PARAMETERS)],
            is_read=True,
        ),
        "/failed-records": _get(
            "List dead letters by error and node.",
            _schema(FailedRecordsModel),
            _query(frozenset({"limit"})),
            is_read=True,
        ),
        "/failed-records/{partition}/{offset}": _get(
            "Return one dead letter, with its parts as they can be edited.",
            _schema(FailedRecordDetailModel),
            [_path_number("partition"), _path_number("offset")],
            is_read=True,
        ),
        "/failed-records/redrive": _post(
            "Send dead letters again into their source topics; needs credentials that may write.",
            _schema(RedriveModel),
            _schema(RedriveResultModel),
        ),
        "/journeys": _get(
            "List the topics of which a record can be followed.",
            _schema(PickedRecordsModel),
            is_read=True,
        ),
        "/journeys/{topic}": _get(
            "List the newest records of a topic.",
            _schema(PickedRecordsModel),
            [_path_parameter("topic"), *_query(frozenset({"limit", "prefix"}))],
            is_read=True,
        ),
        "/journeys/{topic}/live": _get(
            "Send what threads do with the next records of a topic, as server-sent events.",
            _TEXT,
            [_path_parameter("topic"), *_query(LIVE_PARAMETERS)],
            is_read=True,
            media="text/event-stream",
        ),
        "/journeys/{topic}/{partition}/{offset}": _get(
            "Run a record again beside the application, and return what each node does with it.",
            _schema(JourneyModel),
            [_path_parameter("topic"), _path_number("partition"), _path_number("offset")],
            is_read=True,
        ),
        "/plan": {
            **_get("Return the plan of the version that runs.", _schema(PlanModel)),
            **_post(
                "Compare a new version with it: what a start would do to the state.",
                {"type": "object"},
                _schema(PlanReportModel),
            ),
        },
        "/metadata": _get("List the instances of the application.", _schema(MetadataModel)),
        "/metadata/{store}/{key}": _get(
            "Say where a key is read.",
            _schema(KeyLocationModel),
            [store, key, *_query(LOCATION_PARAMETERS)],
            is_read=True,
        ),
        "/about": _get("Say what is served here.", _schema(AboutModel)),
        "/status": _get(
            "Say whether the application is well, with its speed over the last seconds.",
            _schema(StatusModel),
            is_read=True,
        ),
        "/status/history": _get(
            "Return the last hour as a series.",
            _schema(HistoryModel),
            [_since_ms()],
            is_read=True,
        ),
        "/status/heat": _get(
            "Return lag by partition and load by task over the last hour.",
            _schema(HeatModel),
            [_since_ms()],
            is_read=True,
        ),
        "/status/feed": _get(
            "Send the status every second as server-sent events.",
            _TEXT,
            is_read=True,
            media="text/event-stream",
        ),
        "/topology/program": _get(
            "Return the code behind the nodes, and which parts run over columns.",
            _schema(ProgramModel),
            is_read=True,
        ),
        "/console/": _get("Show all of this as a page.", _TEXT, media="text/html"),
        "/topology": _get("Describe the topology.", _schema(TopologyModel)),
        "/topology.svg": _get("Draw the topology.", _TEXT, media="image/svg+xml"),
        "/health/live": _get("Say whether the process is alive.", _schema(HealthModel), down=True),
        "/health/ready": _get("Say whether it answers.", _schema(HealthModel), down=True),
        "/metrics": _get("Print the metrics for Prometheus.", _TEXT, media="text/plain"),
        "/feeds/{store}": _get(
            "Send committed changes as server-sent events; as messages over a websocket.",
            _TEXT,
            [store, _since()],
            is_read=True,
            media="text/event-stream",
        ),
        "/openapi.json": _get("Return this document.", {"type": "object"}),
    }


def _since() -> dict[str, Any]:
    return {
        "name": "since",
        "in": "query",
        "required": False,
        "description": "Where the feed begins: partition:offset, with commas between them.",
        "schema": {"type": "string", "pattern": "^[0-9]{1,5}:[0-9]{1,18}$"},
    }


def _since_ms() -> dict[str, Any]:
    return {
        "name": "since",
        "in": "query",
        "required": False,
        "description": "Only what came after this time, in milliseconds since the epoch.",
        "schema": _WHOLE,
    }


def _schema(model: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _TEXT}


def _path_number(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _WHOLE}


def _query(names: frozenset[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": _QUERY[name][1],
            "schema": _QUERY[name][0],
        }
        for name in sorted(names)
    ]


def _get(
    summary: str,
    schema: dict[str, Any],
    given: list[dict[str, Any]] | None = None,
    *,
    is_read: bool = False,
    has_source: bool = False,
    media: str = "application/json",
    down: bool = False,
) -> dict[str, Any]:
    error = {"application/json": {"schema": _schema(ErrorModel)}}
    answers: dict[str, Any] = {
        "200": {"description": "The answer.", "content": {media: {"schema": schema}}},
        "401": {"description": "A token is missing or wrong.", "content": error},
        "414": {"description": "The URL is too long.", "content": error},
        "431": {"description": "The headers are too long.", "content": error},
        "504": {"description": "It took too long.", "content": error},
    }
    if has_source:
        answers["200"]["headers"] = {
            name: {"description": text, "schema": form}
            for name, (text, form) in _SOURCE_HEADERS.items()
        }
    if is_read:
        answers["400"] = {"description": "The request is wrong.", "content": error}
        answers["404"] = {"description": "There is no such store or key.", "content": error}
        answers["503"] = {
            "description": "No instance can answer right now: the partition moves or is restored.",
            "headers": {"Retry-After": {"schema": _WHOLE}},
            "content": error,
        }
    if down:
        content = {"application/json": {"schema": schema}}
        answers["503"] = {"description": "It is down.", "content": content}
    operation: dict[str, Any] = {"summary": summary, "responses": answers}
    if given:
        operation["parameters"] = given
    return {"get": operation}


def _post(summary: str, body: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = _get(summary, schema, is_read=True)["get"]
    error = {"application/json": {"schema": _schema(ErrorModel)}}
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    operation["responses"] |= {
        "403": {"description": "The credentials may only read.", "content": error},
        "413": {"description": "The body is too long.", "content": error},
    }
    return {"post": operation}
