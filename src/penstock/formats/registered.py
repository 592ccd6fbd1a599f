"""Rows whose bytes begin with the id of a schema: a zero byte, four bytes of id, the payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from penstock.registry.registry import (
    RegistryError,
    Schema,
    SchemaKind,
    SchemaRegistry,
    subject_of,
)

if TYPE_CHECKING:
    from penstock.formats.rows import RowFormat
    from penstock.formats.wire import Wire

Row = tuple[Any, ...]
#: Texts of the schemas that a schema imports, by the names in its import statements.
Imports = dict[str, str]

#: The first byte of every record.
MAGIC = 0
#: How many bytes stand before the payload.
PREFIX_SIZE = 5


class SchemaLanguage(Protocol):
    """What differs between Avro, Protobuf and JSON Schema."""

    kind: SchemaKind

    def check(self, schema: Schema, imports: Imports) -> None:
        """Raise ValueError, KeyError or TypeError if the text is not a schema."""

    def serialized(self, schema: Schema, imports: Imports) -> Schema:
        """Return the schema in its language's binary form, if it has one, as base64."""

    def wire(self, schema: Schema, imports: Imports, full_name: str | None) -> Wire:
        """Return the wire type of the schema; ``full_name`` chooses one of several messages."""

    def values(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        """Return the function from a payload to its wire value."""

    def decoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[bytes], Row]:
        """Return the function from a payload to a row; raise ValueError if the schema is unfit."""

    def encoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[Row], bytes]:
        """Return the function from a row to a payload; raise ValueError if the schema is unfit."""

    def schema_of(self, row: RowFormat) -> Schema:
        """Return the schema to register for a row."""


def imports_of(schema: Schema, registry: SchemaRegistry) -> Imports:
    """Collect the schemas that a schema imports, directly or not."""
    found: Imports = {}
    for reference in schema.references:
        registered = registry.version(reference.subject, reference.version)
        if registered is None:
            raise ValueError(
                f"the schema imports {reference.name!r}: version {reference.version} of"
                f" {reference.subject!r}, which the registry does not have"
            )
        found |= imports_of(registered.schema, registry)
        found[reference.name] = registered.schema.text
    return found


def schema_id_of(data: bytes) -> int:
    """Read the id of the schema that a record was written with."""
    if len(data) < PREFIX_SIZE or data[0] != MAGIC:
        raise ValueError(
            "the record does not begin with a zero byte and a schema id:"
            " it was written without a schema registry"
        )
    return int.from_bytes(data[1:PREFIX_SIZE], "big")


def payload_of(data: bytes) -> bytes:
    """Return what stands behind the id of the schema."""
    return data[PREFIX_SIZE:]


def registered_codec(
    language: SchemaLanguage, row: RowFormat
) -> tuple[Callable[[Row], bytes | None], Callable[[bytes], Row]]:
    """Return the functions of a row whose schemas are in its registry.

    Records are read by the schema they were written with. Rows are written with the schema that
    VALUE_SCHEMA_ID or KEY_SCHEMA_ID names, or with their own, which is registered first.
    """
    registry = row.required_registry()
    decoders: dict[int, Callable[[bytes], Row]] = {}
    made: list[tuple[bytes, Callable[[Row], bytes]]] = []
    is_unwrapped = row.is_unwrapped

    def decode(data: bytes) -> Row:
        schema_id = schema_id_of(data)
        read = decoders.get(schema_id)
        if read is None:
            schema = _written_with(registry, schema_id)
            read = language.decoder(schema, imports_of(schema, registry), row)
            decoders[schema_id] = read
        return read(data[PREFIX_SIZE:])

    def encode(values: Row) -> bytes | None:
        if is_unwrapped and values[0] is None:
            return None
        if not made:
            made.append(_encoder(language, row, registry))
        prefix, write = made[0]
        return prefix + write(values)

    return encode, decode


def _written_with(registry: SchemaRegistry, schema_id: int) -> Schema:
    try:
        return registry.by_id(schema_id)
    except RegistryError as error:
        if error.code != "unknown-schema":
            raise
        # The record is wrong. If the registry cannot be reached, another error is raised.
        raise ValueError(error.message) from None


def _encoder(
    language: SchemaLanguage, row: RowFormat, registry: SchemaRegistry
) -> tuple[bytes, Callable[[Row], bytes]]:
    if row.properties.schema_id is not None:
        schema_id = row.properties.schema_id
        schema = registry.by_id(schema_id)
    else:
        schema = language.schema_of(row)
        schema_id = registry.register(subject_of(row.topic, is_key=row.is_key), schema)
    write = language.encoder(schema, imports_of(schema, registry), row)
    return bytes([MAGIC]) + schema_id.to_bytes(4, "big"), write
