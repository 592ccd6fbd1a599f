"""Schema registries: subjects with versions, ids for schemas. Over HTTP: ``http_registry``."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, Protocol

from penstock.errors import PenstockError

SchemaKind = Literal["AVRO", "JSON", "PROTOBUF"]


class RegistryError(PenstockError):
    """The registry refuses a request or cannot be reached."""


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one imports under ``name``."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as text, with what it imports."""

    kind: SchemaKind
    text: str
    references: tuple[SchemaReference, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema under its subject, version and id."""

    subject: str
    version: int
    id: int
    schema: Schema


class SchemaRegistry(Protocol):
    """What formats ask of a registry. Ids are unique, the same schema has one id everywhere."""

    def register(self, subject: str, schema: Schema) -> int:
        """Adds a version unless the subject has that schema already; gives the schema's id."""

    def by_id(self, schema_id: int) -> Schema:
        """Gives a schema; raises RegistryError ``unknown-schema`` if there is none."""

    def latest(self, subject: str) -> RegisteredSchema | None:
        """Gives a subject's newest version, None for an unknown subject."""

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        """Gives one version of a subject, None if there is none."""

    def subjects(self) -> list[str]:
        """Gives the names of all subjects, in order."""

    def delete(self, subject: str) -> list[int]:
        """Forgets a subject; gives the versions it had."""


def subject_of(topic: str, *, is_key: bool) -> str:
    """Names the subject that holds the schema of a topic's keys or values.

    >>> subject_of("orders", is_key=False)
    'orders-value'
    """
    return f"{topic}-key" if is_key else f"{topic}-value"


@dataclass(slots=True)
class MemoryRegistry:
    """A registry inside this process. A pickled copy knows what was there by then."""

    _versions: dict[str, dict[int, RegisteredSchema]] = field(default_factory=dict)
    _ids: dict[Schema, int] = field(default_factory=dict)
    _schemas: dict[int, Schema] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self._versions, self._ids, self._schemas)

    def register(self, subject: str, schema: Schema, schema_id: int | None = None) -> int:
        """Adds a version; ``schema_id`` asks for an id, as an import from elsewhere does."""
        with self._lock:
            versions = self._versions.setdefault(subject, {})
            for known in versions.values():
                if known.schema == schema and schema_id in (None, known.id):
                    return known.id
            number = self._id_of(schema, schema_id)
            version = max(versions, default=0) + 1
            versions[version] = RegisteredSchema(subject, version, number, schema)
            return number

    def _id_of(self, schema: Schema, wanted: int | None) -> int:
        number = wanted or self._ids.get(schema) or max(self._schemas, default=0) + 1
        if self._schemas.setdefault(number, schema) != schema:
            raise RegistryError(
                "schema-id-taken", f"id {number} belongs to another schema", fix="choose another id"
            )
        self._ids.setdefault(schema, number)
        return number

    def by_id(self, schema_id: int) -> Schema:
        found = self._schemas.get(schema_id)
        if found is None:
            raise unknown_schema(schema_id)
        return found

    def latest(self, subject: str) -> RegisteredSchema | None:
        versions = self._versions.get(subject)
        return versions[max(versions)] if versions else None

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        return self._versions.get(subject, {}).get(version)

    def subjects(self) -> list[str]:
        return sorted(subject for subject, versions in self._versions.items() if versions)

    def delete(self, subject: str) -> list[int]:
        with self._lock:
            return sorted(self._versions.pop(subject, {}))


def _restored(
    versions: dict[str, dict[int, RegisteredSchema]],
    ids: dict[Schema, int],
    schemas: dict[int, Schema],
) -> MemoryRegistry:
    return MemoryRegistry(versions, ids, schemas)


def unknown_schema(schema_id: int) -> RegistryError:
    return RegistryError(
        "unknown-schema",
        f"the schema registry has no schema with id {schema_id}",
        fix="check ksql.schema.registry.url: the record was written with another registry",
    )
