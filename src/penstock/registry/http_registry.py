"""A registry that is reached over HTTP, with Confluent's client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast
from weakref import finalize

from penstock.errors import ConfigError
from penstock.extras import install_command
from penstock.registry.registry import (
    RegisteredSchema,
    RegistryError,
    Schema,
    SchemaKind,
    SchemaReference,
    unknown_schema,
)
from penstock.registry.registry_state import schema_to_json
from penstock.registry.schemas import RegistryUnavailableError

_NOT_FOUND = 404
# The login is wrong, or it lacks a right. That is not the fault of a record.
_LOGIN = (401, 403)
# Statuses from here on mean that the server failed, and not that the request is wrong.
_OWN_FAULT = 500


class HttpRegistry:
    """A schema registry with a URL. A pickled copy on a worker opens its own connections.

    Args:
        url: such as ``http://localhost:8081``.
        settings: further settings of Confluent's client, such as ``basic.auth.user.info``.
    """

    def __init__(self, url: str, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = {**(settings or {}), "url": url}
        self._client = _new_client(self._settings)
        # Copies on workers are not closed explicitly.
        self._finalizer = finalize(self, self._client.close)
        self._known: dict[int, Schema] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        others = {name: value for name, value in self._settings.items() if name != "url"}
        return HttpRegistry, (self._settings["url"], others)

    def register(self, subject: str, schema: Schema) -> int:
        theirs = _to_client(schema)
        return int(self._asked(lambda: self._client.register_schema(subject, theirs)))

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema | None:
        theirs = _to_client(schema)
        found = self._asked(lambda: self._client.lookup_schema(subject, theirs), missing=None)
        if found is None:
            return None
        return RegisteredSchema(subject, int(found.version), int(found.schema_id), schema)

    def by_id(self, schema_id: int) -> Schema:
        known = self._known.get(schema_id)
        if known is None:
            found = self._asked(lambda: self._client.get_schema(schema_id), missing=None)
            if found is None:
                raise unknown_schema(schema_id)
            known = self._known[schema_id] = _from_client(found)
        return known

    def latest(self, subject: str) -> RegisteredSchema | None:
        # Another program may have registered a newer version. The client would return the old one.
        self._client.clear_latest_caches()
        return self._registered(lambda: self._client.get_latest_version(subject))

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        return self._registered(lambda: self._client.get_version(subject, version))

    def subjects(self) -> list[str]:
        return sorted(self._asked(self._client.get_subjects))

    def delete(self, subject: str) -> list[int]:
        return list(self._asked(lambda: self._client.delete_subject(subject), missing=[]))

    def close(self) -> None:
        """Close the connections. This also happens when the object is garbage-collected."""
        self._finalizer()

    def _registered(self, ask: Callable[[], Any]) -> RegisteredSchema | None:
        found = self._asked(ask, missing=None)
        if found is None:
            return None
        schema = _from_client(found.schema)
        return RegisteredSchema(found.subject, found.version, found.schema_id, schema)

    def _asked(self, ask: Callable[[], Any], **otherwise: Any) -> Any:
        """Return the answer, or ``missing`` if it is given and the registry answers "not found"."""
        # The package belongs to an extra. It is installed, since there is a client.
        from confluent_kafka.schema_registry import SchemaRegistryError  # noqa: PLC0415

        try:
            return ask()
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND and "missing" in otherwise:
                return otherwise["missing"]
            raise _refused(error.http_status_code, error.error_message) from None
        # The libraries of the client have different errors for a server that cannot be reached.
        except Exception as error:
            raise RegistryUnavailableError(
                "registry-unavailable",
                f"the schema registry at {self._settings['url']} cannot be asked: {error}",
                fix="check that the registry runs and its address: schema.registry.url,"
                " in SQL ksql.schema.registry.url",
            ) from error


def _refused(status: int, reason: str) -> RegistryError:
    if status in _LOGIN:
        return RegistryUnavailableError(
            "registry-login",
            f"the schema registry refuses the login: {reason}",
            fix="check basic.auth.user.info, in SQL ksql.schema.registry.basic.auth.user.info",
        )
    kind = RegistryUnavailableError if status >= _OWN_FAULT else RegistryError
    return kind("registry-refused", f"the schema registry says: {reason}")


def _new_client(settings: Mapping[str, Any]) -> Any:
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            "registry-client-missing",
            f"a schema registry over HTTP needs the package {error.name!r}",
            fix=install_command("formats"),
        ) from None
    try:
        return SchemaRegistryClient(dict(settings))
    except (ValueError, TypeError) as error:
        raise ConfigError(
            "bad-registry-setting",
            f"the schema registry's client cannot be made: {error}",
            fix="check schema.registry.url and the settings beside it",
        ) from None


def _to_client(schema: Schema) -> Any:
    from confluent_kafka.schema_registry import Schema as Theirs  # noqa: PLC0415

    return Theirs.from_dict({"schemaType": "AVRO", **schema_to_json(schema)})


def _from_client(theirs: Any) -> Schema:
    references = tuple(
        SchemaReference(r.name, r.subject, int(r.version)) for r in theirs.references or ()
    )
    return Schema(cast("SchemaKind", theirs.schema_type or "AVRO"), theirs.schema_str, references)
