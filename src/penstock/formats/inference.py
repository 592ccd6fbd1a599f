"""Columns of registered schemas, and the registration of the schema of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.formats.errors import FormatError
from penstock.formats.language import has_language, language_of
from penstock.formats.registered import imports_of
from penstock.formats.wire import Wire, WireStruct, sql_fields, sql_type
from penstock.model.sql.types import Field
from penstock.registry.registry import RegistryError, Schema, SchemaRegistry, subject_of

UNKNOWN_SCHEMA = "unknown-schema"

if TYPE_CHECKING:
    from penstock.formats.formats import Format
    from penstock.formats.properties import FormatProperties
    from penstock.formats.rows import RowFormat


@dataclass(frozen=True, slots=True)
class InferredColumns:
    """The columns of a schema, and the id of the schema they are from."""

    columns: tuple[Field, ...]
    schema_id: int


def infer_columns(
    format: Format,  # noqa: A002 - the word of the language
    registry: SchemaRegistry,
    *,
    topic: str,
    is_key: bool,
    properties: FormatProperties,
    wrap: bool | None = None,
) -> InferredColumns:
    """Return the columns that a topic's schema has: the newest one, or the one that an id names.

    Names become upper case unless the id of the schema is given. A value without an envelope is
    one column, ROWKEY or ROWVAL. So is every key, if the format can do without an envelope.

    Raises:
        FormatError: when there is no such schema, or no SQL types for it.
    """
    side = "key" if is_key else "value"
    schema_id, schema = _found(registry, topic, is_key=is_key, wanted=properties.schema_id)
    language = language_of(format.name)
    if schema.kind != language.kind:
        raise FormatError(
            "schema-kind",
            f"the {side} schema of topic {topic!r} is {schema.kind}, not {format.name}",
            fix=f"choose the format that fits {schema.kind}",
        )
    try:
        imports = imports_of(schema, registry)
        wire = language.wire(schema, imports, properties.schema_full_name)
        single = format.unwraps and (is_key or wrap is False)
        columns = _columns(
            wire, is_key=is_key, single=single, keep_case=properties.schema_id is not None
        )
    except ValueError as error:
        raise FormatError(
            "schema-without-columns",
            f"the {side} schema of topic {topic!r} has no columns: {error}",
            fix="declare the columns in the statement",
        ) from None
    return InferredColumns(columns, schema_id)


def _found(
    registry: SchemaRegistry, topic: str, *, is_key: bool, wanted: int | None
) -> tuple[int, Schema]:
    if wanted is not None:
        return wanted, _chosen(registry, wanted, is_key=is_key)
    latest = registry.latest(subject_of(topic, is_key=is_key))
    if latest is None:
        side = "key" if is_key else "value"
        raise FormatError(
            "no-schema",
            f"the schema registry has no {side} schema of topic {topic!r}"
            f" (subject {subject_of(topic, is_key=is_key)!r})",
            fix="declare the columns in the statement, or register the schema first",
        )
    return latest.id, latest.schema


def _chosen(registry: SchemaRegistry, schema_id: int, *, is_key: bool) -> Schema:
    """Return the schema that a statement names by its id."""
    try:
        return registry.by_id(schema_id)
    except RegistryError as error:
        if error.code != UNKNOWN_SCHEMA:
            raise
        raise FormatError(
            UNKNOWN_SCHEMA,
            f"the schema registry has no schema with id {schema_id}",
            fix=f"correct {'KEY' if is_key else 'VALUE'}_SCHEMA_ID, or register the schema first",
        ) from None


def _columns(wire: Wire, *, is_key: bool, single: bool, keep_case: bool) -> tuple[Field, ...]:
    if single:
        name = "ROWKEY" if is_key else "ROWVAL"
        return (Field(name, sql_type(wire, keep_case=keep_case)),)
    if not isinstance(wire, WireStruct):
        raise ValueError("it is a single value; set WRAP_SINGLE_VALUE=false")
    if not wire.fields:
        raise ValueError("it has no fields")
    return sql_fields(wire, keep_case=keep_case)


def schema_of(row: RowFormat) -> Schema | None:
    """Return the schema to register for a row; None when its format has none."""
    if not row.columns or not has_language(row.format.name):
        return None
    return language_of(row.format.name).schema_of(row)


def register(row: RowFormat, *, if_absent: bool = False) -> int | None:
    """Register the schema that a row is written with, under its topic's subject; return its id.

    That is the row's own schema, or the one with the id in the properties, if the row fits it.
    With ``if_absent``, a subject that has a schema keeps it: other programs write the topic.

    Raises:
        FormatError: ``schema-unfit`` when the chosen schema cannot hold the columns.
    """
    own = schema_of(row)
    if own is None:
        return None
    registry, subject = row.required_registry(), subject_of(row.topic, is_key=row.is_key)
    if row.properties.schema_id is not None:
        check_chosen_schema(row)
        return registry.register(subject, registry.by_id(row.properties.schema_id))
    latest = registry.latest(subject) if if_absent else None
    return latest.id if latest else registry.register(subject, own)


def check_chosen_schema(row: RowFormat) -> None:
    """Refuse a row that cannot be written with the schema its id names."""
    registry, schema_id = row.required_registry(), row.properties.schema_id
    assert schema_id is not None
    schema = _chosen(registry, schema_id, is_key=row.is_key)
    try:
        language_of(row.format.name).encoder(schema, imports_of(schema, registry), row)
    except ValueError as error:
        raise FormatError(
            "schema-unfit",
            f"schema {schema_id} cannot hold the columns of topic {row.topic!r}: {error}",
            fix="choose a schema that has all columns, or leave the schema id out",
        ) from None
