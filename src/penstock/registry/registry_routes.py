"""The answers of the registry's HTTP interface: one function for each route."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.formats.language import language_of
from penstock.formats.registered import imports_of
from penstock.registry.registry import LogRegistry, RegisteredSchema, Schema, SchemaKind
from penstock.registry.registry_state import schema_from_json, schema_to_json

_FORMATS: dict[SchemaKind, str] = {"AVRO": "AVRO", "JSON": "JSON_SR", "PROTOBUF": "PROTOBUF"}
_LEVEL = "NONE"


class ApiError(Exception):
    """A request is refused: the HTTP status, the code of the interface, and the reason."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(status, code, message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True, slots=True)
class Request:
    """A request, with its path split at the slashes."""

    method: str
    path: tuple[str, ...]
    query: dict[str, str]
    body: dict[str, Any]

    def asks_for(self, name: str) -> bool:
        return self.query.get(name, "").lower() == "true"


def answer(registry: LogRegistry, request: Request) -> Any:
    """Return the JSON answer to a request.

    Raises:
        ApiError: when the request is refused.
    """
    match request.method, request.path:
        case "GET", ():
            return {}
        case _, ("subjects", *rest):
            return _subjects(registry, request, rest)
        case "GET", ("schemas", *rest):
            return _schemas(registry, request, rest)
        case _, ("config", *_):
            return _config(request)
        case "GET", ("mode", *_):
            return {"mode": "READWRITE"}
        case "POST", ("compatibility", "subjects", _, "versions", *_):
            # The only level is NONE: every schema that can be parsed is compatible.
            _checked_schema(registry, request.body)
            return {"is_compatible": True}
        case _:
            raise _no_route(request)


def _subjects(registry: LogRegistry, request: Request, rest: list[str]) -> Any:
    match request.method, rest:
        case "GET", []:
            return registry.state().subjects(deleted=request.asks_for("deleted"))
        case "POST", [subject]:
            return _lookup(registry, subject, request)
        case "DELETE", [subject]:
            _versions(registry, subject, deleted=True)
            return registry.delete(subject, permanent=request.asks_for("permanent"))
        case "GET", [subject, "versions"]:
            return [v.version for v in _versions(registry, subject)]
        case "POST", [subject, "versions"]:
            schema = _checked_schema(registry, request.body)
            wanted = int(request.body.get("id") or -1)
            return {"id": registry.register(subject, schema, wanted if wanted > 0 else None)}
        case "GET", [subject, "versions", version]:
            found = _version(registry, subject, version)
            return _version_json(replace(found, schema=_shown(registry, request, found.schema)))
        case "GET", [subject, "versions", version, "schema"]:
            return _version(registry, subject, version).schema.text
        case "DELETE", [subject, "versions", version]:
            found = _version(registry, subject, version, deleted=True)
            registry.delete(subject, found.version, permanent=request.asks_for("permanent"))
            return found.version
        case _:
            raise _no_route(request)


def _schemas(registry: LogRegistry, request: Request, rest: list[str]) -> Any:
    match rest:
        case ["types"]:
            return list(_FORMATS)
        case ["ids", number]:
            return schema_to_json(_shown(registry, request, registry.by_id(int(number))))
        case ["ids", number, "schema"]:
            return registry.by_id(int(number)).text
        case ["ids", number, "subjects"]:
            registry.by_id(int(number))
            return sorted({v.subject for v in registry.state().uses(int(number))})
        case ["ids", number, "versions"]:
            registry.by_id(int(number))
            uses = registry.state().uses(int(number))
            return [{"subject": v.subject, "version": v.version} for v in uses]
        case _:
            raise ApiError(404, 404, "there is no such route")


def _shown(registry: LogRegistry, request: Request, schema: Schema) -> Schema:
    """Return a schema in the form that the request asks for: Protobuf may be ``serialized``."""
    if request.query.get("format") != "serialized":
        return schema
    return language_of(_FORMATS[schema.kind]).serialized(schema, imports_of(schema, registry))


def _config(request: Request) -> Any:
    """Return the level of compatibility, which is NONE; refuse to set another."""
    if request.method == "PUT":
        level = str(request.body.get("compatibility", "")).upper()
        if level != _LEVEL:
            raise ApiError(
                422, 42203, f"this registry checks no compatibility: {level!r} is not supported"
            )
        return {"compatibility": _LEVEL}
    return {"compatibilityLevel": _LEVEL}


def _checked_schema(registry: LogRegistry, body: dict[str, Any]) -> Schema:
    """Read a schema; refuse one that its language cannot parse."""
    schema = schema_from_json(body)
    try:
        language_of(_FORMATS[schema.kind]).check(schema, imports_of(schema, registry))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ApiError(422, 42201, f"invalid {schema.kind} schema: {error}") from None
    return schema


def _lookup(registry: LogRegistry, subject: str, request: Request) -> Any:
    _versions(registry, subject)
    found = registry.state().same(subject, schema_from_json(request.body))
    if found is None:
        raise ApiError(404, 40403, f"subject {subject!r} does not have this schema")
    return _version_json(found)


def _versions(
    registry: LogRegistry, subject: str, *, deleted: bool = False
) -> list[RegisteredSchema]:
    found = registry.state().versions(subject, deleted=deleted)
    if not found:
        raise ApiError(404, 40401, f"there is no subject {subject!r}")
    return found


def _version(
    registry: LogRegistry, subject: str, version: str, *, deleted: bool = False
) -> RegisteredSchema:
    versions = _versions(registry, subject, deleted=deleted)
    if version in ("latest", "-1"):
        return versions[-1]
    if not version.isdigit():
        raise ApiError(422, 42202, f"{version!r} is not a version: use a number or latest")
    for each in versions:
        if each.version == int(version):
            return each
    raise ApiError(404, 40402, f"subject {subject!r} has no version {version}")


def _version_json(found: RegisteredSchema) -> dict[str, Any]:
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        **schema_to_json(found.schema),
    }


def _no_route(request: Request) -> ApiError:
    return ApiError(404, 404, f"there is no route {request.method} /{'/'.join(request.path)}")
