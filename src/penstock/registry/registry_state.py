"""The contents of a registry, built from the records of its log.

The records are those of Confluent's registry in its topic ``_schemas``, so that each can read what
the other has written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.registry.schemas import (
    RegisteredSchema,
    RegistryError,
    Schema,
    SchemaKind,
    SchemaReference,
    unknown_schema,
)

_KINDS: dict[str, SchemaKind] = {"AVRO": "AVRO", "JSON": "JSON", "PROTOBUF": "PROTOBUF"}

#: A record of the log; a value of None deletes.
LogRecord = tuple[bytes, bytes | None]


def canonical(schema: Schema) -> Schema:
    """Return a schema in a form in which equal schemas have equal text.

    Raises:
        RegistryError: ``invalid-schema`` when the text must be JSON and is not.
    """
    if schema.kind == "PROTOBUF":
        return Schema(schema.kind, schema.text.strip(), schema.references)
    try:
        text = json.dumps(json.loads(schema.text), separators=(",", ":"))
    except ValueError as error:
        raise RegistryError(
            "invalid-schema", f"the {schema.kind} schema is not JSON: {error}"
        ) from None
    return Schema(schema.kind, text, schema.references)


@dataclass(slots=True)
class RegistryState:
    """All subjects and schemas. Only ``apply`` changes them."""

    _versions: dict[str, dict[int, RegisteredSchema]] = field(default_factory=dict)
    _deleted: set[tuple[str, int]] = field(default_factory=set)
    _schemas: dict[int, Schema] = field(default_factory=dict)
    _ids: dict[Schema, int] = field(default_factory=dict)

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Apply one record of the log. Records of other kinds are ignored.

        Raises:
            ValueError: when the record does not belong to such a log.
        """
        said = json.loads(key)
        if said.get("keytype") == "SCHEMA":
            self._apply_schema(said, None if value is None else json.loads(value))
        elif said.get("keytype") == "DELETE_SUBJECT" and value is not None:
            last = json.loads(value)["version"]
            known = self._versions.get(said["subject"], {})
            self._deleted |= {(said["subject"], v) for v in known if v <= last}

    def _apply_schema(self, key: dict[str, Any], value: dict[str, Any] | None) -> None:
        subject, version = key["subject"], key["version"]
        if value is None:
            self._versions.get(subject, {}).pop(version, None)
            self._deleted.discard((subject, version))
            return
        schema = schema_from_json(value)
        known = RegisteredSchema(subject, version, value["id"], schema)
        self._versions.setdefault(subject, {})[version] = known
        self._schemas[known.id] = schema
        self._ids.setdefault(canonical(schema), known.id)
        if value.get("deleted"):
            self._deleted.add((subject, version))
        else:
            self._deleted.discard((subject, version))

    def by_id(self, schema_id: int) -> Schema:
        found = self._schemas.get(schema_id)
        if found is None:
            raise unknown_schema(schema_id)
        return found

    def subjects(self, *, deleted: bool = False) -> list[str]:
        return sorted(s for s in self._versions if self.versions(s, deleted=deleted))

    def versions(self, subject: str, *, deleted: bool = False) -> list[RegisteredSchema]:
        """Return a subject's versions in order, without deleted ones unless ``deleted`` is set."""
        known = self._versions.get(subject, {})
        return [known[v] for v in sorted(known) if deleted or (subject, v) not in self._deleted]

    def uses(self, schema_id: int) -> list[RegisteredSchema]:
        """Return every version that has the schema."""
        return [v for s in self.subjects() for v in self.versions(s) if v.id == schema_id]

    def same(self, subject: str, schema: Schema) -> RegisteredSchema | None:
        """Find the version of a subject that has the same schema."""
        wanted = canonical(schema)
        versions = self.versions(subject)
        return next((v for v in versions if canonical(v.schema) == wanted), None)

    def registration(
        self, subject: str, schema: Schema, schema_id: int | None = None
    ) -> RegisteredSchema:
        """Return the version that a registration adds."""
        version = max(self._versions.get(subject, {}), default=0) + 1
        known = self._ids.get(canonical(schema))
        number = schema_id or known or max(self._schemas, default=0) + 1
        if schema_id is not None and canonical(self._schemas.get(number, schema)) != canonical(
            schema
        ):
            raise RegistryError(
                "schema-id-taken", f"id {number} belongs to another schema", fix="choose another id"
            )
        return RegisteredSchema(subject, version, number, schema)

    def deletion(
        self, subject: str, version: int | None, *, permanent: bool
    ) -> Iterator[LogRecord]:
        """Return the records that delete a subject or one version of it."""
        for known in self.versions(subject, deleted=permanent):
            if version in (None, known.version):
                key, value = schema_record(known, deleted=True)
                yield key, None if permanent else value


def schema_record(known: RegisteredSchema, *, deleted: bool = False) -> tuple[bytes, bytes]:
    """Return the record of a version."""
    key = {"keytype": "SCHEMA", "subject": known.subject, "version": known.version, "magic": 1}
    value = {
        "subject": known.subject,
        "version": known.version,
        "id": known.id,
        **schema_to_json(known.schema),
        "deleted": deleted,
    }
    return _bytes(key), _bytes(value)


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as the interface has it; a schema without a kind is AVRO."""
    said: dict[str, Any] = {}
    if schema.kind != "AVRO":
        said["schemaType"] = schema.kind
    if schema.references:
        said["references"] = [
            {"name": r.name, "subject": r.subject, "version": r.version} for r in schema.references
        ]
    return {**said, "schema": schema.text}


def schema_from_json(said: dict[str, Any]) -> Schema:
    """Read a schema in the form of the interface or of the log.

    Raises:
        RegistryError: ``invalid-schema`` when it is incomplete or of an unknown kind.
    """
    kind, text = _KINDS.get(said.get("schemaType") or "AVRO"), said.get("schema")
    if kind is None or not isinstance(text, str):
        raise RegistryError(
            "invalid-schema",
            f"a schema needs a text and a schemaType AVRO, JSON or PROTOBUF,"
            f" got {said.get('schemaType')!r}",
        )
    references = tuple(
        SchemaReference(r["name"], r["subject"], int(r["version"]))
        for r in said.get("references") or ()
    )
    return Schema(kind, text, references)


def _bytes(said: dict[str, Any]) -> bytes:
    return json.dumps(said, separators=(",", ":")).encode()
