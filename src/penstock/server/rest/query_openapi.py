"""The paths of queries in the OpenAPI document. The rest of it: ``server.rest.openapi``."""

from __future__ import annotations

from typing import Any

from penstock.server.rest.replies import JSON, V1_JSON
from penstock.server.rest.row_forms import DELIMITED, EVENTS, V1_PROTOBUF

_TEXT = {"type": "string"}
_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}
_ARRAY: dict[str, Any] = {"type": "array"}
#: One server-sent event.
_EVENT = {"type": "object", "properties": {"event": _TEXT, "data": _TEXT, "id": _TEXT}}
_COMMON = {
    "sessionVariables": {**_OBJECT, "description": "Variables that the query may use."},
    "requestProperties": {**_OBJECT, "description": "Tokens of this request."},
    "commandSequenceNumber": {
        "type": ["integer", "null"],
        "description": "A command that the server must have run before.",
    },
}
_SETTINGS = {**_OBJECT, "description": "Settings in force for the query."}
_SELECT = {**_TEXT, "description": "One SELECT or PRINT."}


def query_paths() -> dict[str, Any]:
    """Return the paths of queries and of streams of inserts, by path."""
    return {
        "/query": {
            "post": _operation(
                "Answer a pull query, or send the rows of a push query.",
                _body(ksql=_SELECT, streamsProperties=_SETTINGS, **_COMMON),
                {JSON: _ARRAY, **_OTHERS, DELIMITED: _TEXT},
            )
        },
        "/query-stream": {
            "post": _operation(
                "Answer a pull query, or send the rows of a push query, as lines.",
                _body(sql=_SELECT, properties=_SETTINGS, **_COMMON),
                {DELIMITED: _TEXT, **_OTHERS, JSON: _ARRAY},
            ),
            "get": {
                "summary": "Send the rows of a query as server-sent events.",
                "parameters": [
                    _parameter("sql", _SELECT, required=True),
                    _parameter("properties", {**_TEXT, "description": "Settings, as JSON."}),
                ],
                "responses": _responses({EVENTS: _EVENT}),
            },
        },
        "/inserts-stream": {
            "post": _operation(
                "Insert rows, one per line after a line with the target; acknowledge each.",
                {"text/plain": {"schema": _TEXT}},
                {DELIMITED: _TEXT, JSON: _ARRAY},
            )
        },
        "/close-query": {
            "post": {
                "summary": "End a push query.",
                "requestBody": {"required": True, "content": _body(queryId=_TEXT)},
                "responses": {
                    "200": {"description": "It has ended."},
                    "4XX": _error("There is no such query, or it belongs to another caller."),
                },
            }
        },
    }


_OTHERS = {V1_JSON: _ARRAY, V1_PROTOBUF: _ARRAY, EVENTS: _EVENT}


def _body(**properties: Any) -> dict[str, Any]:
    first = next(iter(properties))
    schema = {"type": "object", "required": [first], "properties": properties}
    return {JSON: {"schema": schema}}


def _operation(summary: str, content: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": content},
        "responses": _responses(answers),
    }


def _responses(answers: dict[str, Any]) -> dict[str, Any]:
    content = {media: {"schema": schema} for media, schema in answers.items()}
    return {
        "200": {"description": "The rows.", "content": content},
        "4XX": _error("What is wrong with the request."),
        "503": _error("Not now: a table is being loaded, or too far behind."),
    }


def _error(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": text, "content": {JSON: {"schema": schema}}}


def _parameter(name: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}
