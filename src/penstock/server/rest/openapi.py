"""The OpenAPI document of the server."""

from __future__ import annotations

from functools import cache
from typing import Any

import penstock
from penstock.server.console.models import ApplicationsModel
from penstock.server.rest.query_openapi import query_paths
from penstock.serving.openapi import document as serving_document

_JSON = "application/json"
_ROW_MEDIA = (
    "application/vnd.ksql.v1+json",
    "application/vnd.ksqlapi.delimited.v1",
    "application/vnd.ksql.v1+protobuf",
    "text/event-stream",
    "text/plain",
)
_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_TRUTH = {"type": "boolean"}
_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}


def _object(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return made | ({"required": required} if required else {})


_ERROR = _object(
    ["@type", "error_code", "message"],
    **{"@type": _TEXT, "error_code": _WHOLE, "message": _TEXT, "statementText": _TEXT,
       "entities": {"type": "array", "items": _OBJECT}},
)  # fmt: skip
_ENTITIES = {"type": "array", "items": _object(["@type"], **{"@type": _TEXT})}
_STATUS = _object(
    ["status"], status=_TEXT, message=_TEXT, queryId={"type": ["string", "null"]}
)  # fmt: skip
_REQUEST = _object(
    ["ksql"],
    ksql={**_TEXT, "description": "Statements, each ended by a semicolon."},
    streamsProperties={**_OBJECT, "description": "Settings in force for the request."},
    sessionVariables={
        "type": "object",
        "additionalProperties": _TEXT,
        "description": "Variables that the statements may use.",
    },
    commandSequenceNumber={
        "type": ["integer", "null"],
        "description": "A command that the server must have run before.",
    },
)
_STREAM_REQUEST = _object(
    ["sql"],
    sql={**_TEXT, "description": "One SELECT, ended by a semicolon."},
    properties={**_OBJECT, "description": "Settings in force for the query."},
    sessionVariables={"type": "object", "additionalProperties": _TEXT},
)
#: Rows come in forms that the caller chooses with ``Accept``.
_ANYTHING: dict[str, Any] = {}


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document that ``/openapi.json`` has."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock SQL server",
            "version": penstock.__version__,
            "description": "Statements, queries and the state of an SQL service, as in ksqlDB.",
        },
        "paths": {
            "/ksql": {"post": _post("Run statements.", _REQUEST, _ENTITIES)},
            "/ksql/terminate": {
                "post": _post(
                    "End all queries of the service.",
                    _object(deleteTopicList={"type": "array", "items": _TEXT}),
                    _ENTITIES,
                )
            },
            "/query": {"post": _post("Run a SELECT or PRINT.", _REQUEST, _ANYTHING)},
            "/query-stream": {"post": _post("Run a SELECT.", _STREAM_REQUEST, _ANYTHING)},
            "/close-query": {
                "post": _post("End a push query.", _object(["queryId"], queryId=_TEXT), _ANYTHING)
            },
            "/inserts-stream": {
                "post": _post(
                    "Write rows: an object with the target, then one object per row.",
                    _object(["target"], target=_TEXT, properties=_OBJECT),
                    _ANYTHING,
                )
            },
            "/info": {"get": _get("Version, service and status.", _OBJECT)},
            "/healthcheck": {
                "get": _get(
                    "Whether the server can do its work.",
                    _object(["isHealthy"], isHealthy=_TRUTH, details=_OBJECT, serverState=_TEXT),
                    other={"503": "It cannot."},
                )
            },
            "/clusterStatus": {"get": _get("All servers of the service.", _OBJECT)},
            "/status": {"get": _get("What became of all commands.", _OBJECT)},
            "/status/{type}/{entity}/{action}": {
                "get": _get("What became of one command.", _STATUS),
                "parameters": [_path(name) for name in ("type", "entity", "action")],
            },
            "/is_valid_property/{name}": {
                "get": _get("Whether a setting may be set.", _TRUTH),
                "parameters": [_path("name")],
            },
            "/v1/metadata": {"get": _get("Version and ids of the clusters.", _OBJECT)},
            "/v1/metadata/id": {"get": _get("Ids of the clusters.", _OBJECT)},
            "/heartbeat": {
                "post": _post(
                    "Another server is alive.",
                    _object(["hostInfo"], hostInfo=_TEXT, timestamp=_WHOLE),
                    _OBJECT,
                )
            },
            "/lag": {"post": _post("Lags of another server.", _OBJECT, _OBJECT)},
            "/chc/live": {"get": _get("Whether the process lives.", _OBJECT)},
            "/chc/ready": {
                "get": _get("Whether statements are taken.", _OBJECT, other={"503": "Not yet."})
            },
            "/metrics": {"get": _text("Metrics in Prometheus' format.", "text/plain")},
            **query_paths(),
            **_console_paths(),
        },
        "components": {
            "schemas": {"Error": _ERROR, **_application_document()["components"]["schemas"]},
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"basic": []}, {"bearer": []}],
    }


@cache
def _application_document() -> dict[str, Any]:
    """Return the document of one application, which every running query is."""
    return serving_document(ApplicationsModel)


def _console_paths() -> dict[str, Any]:
    reference = {"$ref": "#/components/schemas/ApplicationsModel"}
    query = {**_path("query"), "description": "The id of a persistent query."}
    about, page = (_application_document()["paths"][path] for path in ("/about", "/console/"))
    found = {
        "/about": about,
        "/console/": page,
        "/applications": {"get": _get("All persistent queries, and what they do.", reference)},
    }
    for path, item in _application_document()["paths"].items():
        if path not in ("/about", "/console/", "/openapi.json"):
            found[f"/applications/{{query}}{path}"] = {**item, "parameters": [query]}
    return found


def _get(summary: str, schema: dict[str, Any], other: dict[str, str] | None = None) -> Any:
    return {"summary": summary, "responses": _responses(schema, other or {})}


def _post(summary: str, body: dict[str, Any], schema: dict[str, Any]) -> Any:
    content = {_JSON: {"schema": body}}
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": content},
        "responses": _responses(schema, {}),
    }


def _responses(schema: dict[str, Any], other: dict[str, str]) -> dict[str, Any]:
    error = {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    media = [_JSON] if schema else [_JSON, *_ROW_MEDIA]
    content = {name: {"schema": schema} for name in media}
    found: dict[str, Any] = {
        "200": {"description": "The answer.", "content": content},
        "4XX": {"description": "What is wrong with the request.", "content": error},
        "503": {"description": "Not now.", "content": error},
    }
    for status, text in other.items():
        found[status] = {"description": text, "content": {_JSON: {"schema": _OBJECT}}}
    return found


def _text(summary: str, media: str) -> dict[str, Any]:
    content = {media: {"schema": _TEXT}}
    return {
        "summary": summary,
        "responses": {"200": {"description": "The page.", "content": content}},
    }


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {**_TEXT, "minLength": 1}}
