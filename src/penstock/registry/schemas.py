"""Schemas of a registry as plain values, and the errors of a registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.errors import PenstockError, UnavailableError

SchemaKind = Literal["AVRO", "JSON", "PROTOBUF"]


class RegistryError(PenstockError):
    """The registry refuses a request or cannot be reached."""


class RegistryUnavailableError(RegistryError, UnavailableError):
    """The registry cannot be used. No record is at fault, so no handler is asked."""


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


def subject_of(topic: str, *, is_key: bool) -> str:
    """Return the subject for the schema of a topic's keys or values.

    >>> subject_of("orders", is_key=False)
    'orders-value'
    """
    return f"{topic}-key" if is_key else f"{topic}-value"


def unknown_schema(schema_id: int) -> RegistryError:
    return RegistryError(
        "unknown-schema",
        f"the schema registry has no schema with id {schema_id}",
        fix="use the registry that the record was written with: schema.registry.url,"
        " in SQL ksql.schema.registry.url",
    )
