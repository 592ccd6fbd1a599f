"""Where a persistent query writes: topic, formats and columns of the stream or table it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.formats.formats import format_named
from penstock.formats.properties import FormatProperties
from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.span import Span
from penstock.sql.ast.statements import CreateAsSelect
from penstock.sql.catalog.catalog import DataSource, FormatSpec, is_compacted
from penstock.sql.catalog.properties import CREATE_AS_PROPERTIES, WithProperties, read_properties
from penstock.sql.catalog.schema import Schema, SourceColumn
from penstock.sql.catalog.schema_inference import with_key_schema_name
from penstock.sql.planner.analysis import Analysis
from penstock.sql.planner.projection import Projected
from penstock.sql.timestamps import check_timestamp

DEFAULT_KEY_FORMAT = "ksql.persistence.default.format.key"
DEFAULT_VALUE_FORMAT = "ksql.persistence.default.format.value"
WRAP_SINGLE_VALUES = "ksql.persistence.wrap.single.values"
TOPIC_PREFIX = "ksql.output.topic.name.prefix"


def sink_of(
    statement: CreateAsSelect,
    analysis: Analysis,
    result: Projected,
    settings: Mapping[str, str],
) -> DataSource:
    """Return the stream or table of CREATE ... AS SELECT.

    Formats are those of the first source unless WITH says otherwise.
    """
    properties = read_properties(statement.properties, CREATE_AS_PROPERTIES)
    source = analysis.first
    schema = Schema(result.columns)
    step = result.stage.step
    key = _format(properties, source.key_format, "KEY")
    if not schema.key and analysis.query.partition_by is not None:
        _refuse_key_format(properties, statement.span)
        key = FormatSpec("NONE")
    elif schema.key and key.name == "NONE" and properties.format("KEY") is None:
        key = FormatSpec(settings.get(DEFAULT_KEY_FORMAT, "KAFKA"))
    if properties.format("KEY") is None and _is_keyed_by_join(analysis):
        key = _holding(key, schema.key)
    value = _format(properties, source.value_format, "VALUE")
    value = replace(value, wrap=_wrap(properties, value, schema.value, settings))
    timestamp = properties.timestamp()
    check_timestamp(timestamp, schema, statement.span)
    prefix = settings.get(TOPIC_PREFIX, "")
    sink = DataSource(
        name=statement.name,
        kind=statement.kind,
        schema=schema,
        topic=properties.text("KAFKA_TOPIC") or f"{prefix}{statement.name}",
        key_format=with_key_schema_name(key, statement.name),
        value_format=value,
        window=step.window,
        timestamp=timestamp,
        topic_settings=properties.topic(is_compacted=is_compacted(statement.kind, step.window)),
        lake=properties.lake(),
        lake_is_present=properties.has_present_rows(statement.kind, len(schema.key)),
    )
    validate_formats(sink)
    return sink


def _format(properties: WithProperties, source: FormatSpec, side: str) -> FormatSpec:
    is_key = side == "KEY"
    name = properties.format(side) or source.name
    found = format_named(name)
    own = FormatProperties.of(properties.values, is_key=is_key)
    if found.name == source.name:
        inherited = {
            field: getattr(source.properties, field)
            for field, written in (
                ("delimiter", "DELIMITER"),
                ("schema_full_name", "SCHEMA_FULL_NAME"),
                ("nullable", "PROTOBUF_NULLABLE_REPRESENTATION"),
            )
            if written in found.inherited and getattr(own, field) is None
        }
        own = replace(own, **inherited)
    return FormatSpec(found.name, own)


def _is_keyed_by_join(analysis: Analysis) -> bool:
    query = analysis.query
    return analysis.is_join and query.group_by is None and query.partition_by is None


def _holding(key: FormatSpec, columns: tuple[SourceColumn, ...]) -> FormatSpec:
    """Return JSON if the inherited format cannot hold the key of a join.

    GROUP BY and PARTITION BY are refused there, as in ksqlDB. A join on a STRUCT is the way to join
    on several columns, whatever the format of the sources' keys is.
    """
    found = format_named(key.name)
    fits = all(found.supports_type(column.type) for column in columns)
    return key if fits else FormatSpec("JSON")


def _refuse_key_format(properties: WithProperties, span: Span | None) -> None:
    given = properties.text("KEY_FORMAT") or properties.text("FORMAT")
    if given is not None and given.upper() != "NONE":
        raise AnalysisError(
            "key-format-without-key",
            f"KEY_FORMAT {given} is given, but the result has no key columns",
            fix="leave KEY_FORMAT out",
            span=properties.spans.get("KEY_FORMAT") or span,
        )


def _wrap(
    properties: WithProperties,
    value: FormatSpec,
    columns: tuple[SourceColumn, ...],
    settings: Mapping[str, str],
) -> bool | None:
    given = properties.flag("WRAP_SINGLE_VALUE")
    return given if given is not None else default_wrap(value, columns, settings)


def default_wrap(
    value: FormatSpec, columns: tuple[SourceColumn, ...], settings: Mapping[str, str]
) -> bool | None:
    """Return ``ksql.persistence.wrap.single.values`` if the format supports both ways."""
    setting = settings.get(WRAP_SINGLE_VALUES)
    found = format_named(value.name)
    if setting is None or len(columns) != 1:
        return None
    wanted = str(setting).lower() == "true"
    return wanted if (found.wraps if wanted else found.unwraps) else None


def validate_formats(source: DataSource) -> None:
    """Refuse columns that the formats of a stream or table cannot hold."""
    for spec, columns, is_key in (
        (source.key_format, source.schema.key, True),
        (source.value_format, source.schema.value, False),
    ):
        format_named(spec.name).validate(
            columns, is_key=is_key, properties=spec.properties, wrap=spec.wrap
        )
