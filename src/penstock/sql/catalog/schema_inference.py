"""Columns that a statement reads from the schema registry, and schemas that it registers."""

from __future__ import annotations

from dataclasses import replace

from penstock.formats.formats import format_named
from penstock.formats.inference import check_chosen_schema, infer_columns, schema_of
from penstock.formats.language import has_language
from penstock.formats.rows import RowFormat, row_format
from penstock.model.sql.errors import AnalysisError
from penstock.registry.registry import SchemaRegistry, subject_of
from penstock.sql.catalog.catalog import DataSource, FormatSpec
from penstock.sql.catalog.schema import Namespace, Schema, SourceColumn
from penstock.topology.nodes import Sink
from penstock.topology.topology import Topology

_AVRO_NAMESPACE = "io.confluent.ksql.avro_schemas"


def with_inferred_columns(source: DataSource, registry: SchemaRegistry | None) -> DataSource:
    """Return the source with the key and value columns that the schema registry has for it."""
    schema = source.schema
    key: tuple[SourceColumn, ...] = schema.key
    value: tuple[SourceColumn, ...] = schema.value
    _refuse_both(source.key_format, key, "KEY")
    _refuse_both(source.value_format, value, "VALUE")
    if not key and format_named(source.key_format.name).infers:
        key = _inferred(source, source.key_format, "KEY", registry)
    if not value and format_named(source.value_format.name).infers:
        value = _inferred(source, source.value_format, "VALUE", registry)
    if (key, value) == (schema.key, schema.value):
        return source
    return replace(source, schema=Schema((*key, *value, *schema.headers)))


def _refuse_both(spec: FormatSpec, columns: tuple[SourceColumn, ...], side: str) -> None:
    if columns and spec.properties.schema_id is not None:
        raise AnalysisError(
            "columns-and-schema-id",
            f"the {side.lower()} has columns and a {side}_SCHEMA_ID, which says them, too",
            fix=f"leave the columns or {side}_SCHEMA_ID out",
        )


def _inferred(
    source: DataSource,
    spec: FormatSpec,
    side: Namespace,
    registry: SchemaRegistry | None,
) -> tuple[SourceColumn, ...]:
    if registry is None:
        raise AnalysisError(
            "no-schema-registry",
            f"{source.name} leaves its columns to the schema registry, and there is none",
            fix="declare the columns, or set ksql.schema.registry.url",
        )
    found = infer_columns(
        format_named(spec.name),
        registry,
        topic=source.topic,
        is_key=side == "KEY",
        properties=spec.properties,
        wrap=spec.wrap,
    )
    return tuple(SourceColumn(field.name, field.type, side) for field in found.columns)


def with_key_schema_name(spec: FormatSpec, source_name: str) -> FormatSpec:
    """Name the Avro schema of a source's keys after the source, unless WITH names it."""
    if spec.name != "AVRO" or spec.properties.schema_full_name is not None:
        return spec
    camel = "".join(part.capitalize() for part in source_name.split("_"))
    name = f"{_AVRO_NAMESPACE}.{camel}Key"
    return replace(spec, properties=replace(spec.properties, schema_full_name=name))


def checked_rows(source: DataSource, registry: SchemaRegistry) -> list[RowFormat]:
    """Return the rows of key and value whose schemas go to the registry, after checking them."""
    rows = []
    for spec, columns, is_key in (
        (source.key_format, source.schema.key, True),
        (source.value_format, source.schema.value, False),
    ):
        if not columns or not has_language(spec.name):
            continue
        row = row_format(
            spec.name,
            columns,
            is_key=is_key,
            topic=source.topic,
            properties=spec.properties,
            registry=registry,
            wrap=spec.wrap,
        )
        if row.properties.schema_id is not None:
            check_chosen_schema(row)
        else:
            schema_of(row)
        rows.append(row)
    return rows


def is_registered(row: RowFormat) -> bool:
    """Return whether the registry has a schema for the topic already."""
    subject = subject_of(row.topic, is_key=row.is_key)
    return row.required_registry().latest(subject) is not None


def internal_rows(topology: Topology) -> list[RowFormat]:
    """Return the rows of keys inside a query whose schemas the registry must have.

    They are registered before the query runs: otherwise each worker could register one with another
    id.
    """
    graph = topology.graph
    serdes = [node.key_serde for node in graph.nodes.values() if isinstance(node, Sink)]
    serdes.extend(store.key_serde for store in graph.stores.values())
    found: dict[str, RowFormat] = {}
    for serde in serdes:
        row = getattr(getattr(serde, "inner", serde), "row", None)
        if isinstance(row, RowFormat) and row.columns and has_language(row.format.name):
            found.setdefault(row.topic, row)
    return list(found.values())


def registered_subjects(source: DataSource) -> tuple[str, ...]:
    """Return the subjects that the schemas of a source's topic are registered under."""
    sides = (
        (source.key_format, source.schema.key, True),
        (source.value_format, source.schema.value, False),
    )
    return tuple(
        subject_of(source.topic, is_key=is_key)
        for spec, columns, is_key in sides
        if columns and has_language(spec.name)
    )
