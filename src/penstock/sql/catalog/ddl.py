"""CREATE STREAM and CREATE TABLE over a topic. ALTER, DROP and types: ``catalog.ddl_changes``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.formats.formats import format_named
from penstock.formats.properties import FormatProperties
from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.model.sql.span import Span
from penstock.model.sql.types import BYTES
from penstock.registry.registry import SchemaRegistry
from penstock.sql.ast.statements import (
    Column,
    CreateAsSelect,
    CreateSource,
)
from penstock.sql.catalog.catalog import Catalog, DataSource, FormatSpec, is_compacted
from penstock.sql.catalog.properties import CREATE_PROPERTIES, WithProperties, read_properties
from penstock.sql.catalog.schema import HEADERS_TYPE, SYSTEM_COLUMNS, Schema, SourceColumn
from penstock.sql.catalog.schema_inference import with_inferred_columns, with_key_schema_name
from penstock.sql.catalog.type_names import resolve
from penstock.sql.planner.sink import (
    DEFAULT_KEY_FORMAT,
    DEFAULT_VALUE_FORMAT,
    default_wrap,
    validate_formats,
)
from penstock.sql.planner.upgrade import check_redefinition
from penstock.sql.timestamps import check_timestamp


@dataclass(frozen=True, slots=True)
class Definitions:
    """Adds streams and tables to one catalog; settings replace properties that WITH leaves out."""

    catalog: Catalog
    settings: Mapping[str, str]
    registry: SchemaRegistry | None = None

    def create_source(self, statement: CreateSource, sql: str) -> DataSource | None:
        """Add a stream or table over a topic; return None if IF NOT EXISTS finds one."""
        if self.exists(statement):
            return None
        if statement.or_replace and statement.is_source:
            raise _not_replaceable(statement)
        properties = read_properties(statement.properties, CREATE_PROPERTIES)
        topic = properties.text("KAFKA_TOPIC")
        if topic is None:
            raise AnalysisError(
                "missing-property",
                f"CREATE {statement.kind} needs a KAFKA_TOPIC",
                fix="add KAFKA_TOPIC='name' to WITH",
                span=statement.span,
            )
        schema = Schema(tuple(self._column(c, statement) for c in statement.columns))
        key = self._format(properties, "KEY", DEFAULT_KEY_FORMAT, "KAFKA", statement)
        value = self._format(properties, "VALUE", DEFAULT_VALUE_FORMAT, None, statement)
        if not schema.key and properties.format("KEY") is None:
            key = FormatSpec("NONE")
        window = properties.window()
        source = DataSource(
            name=statement.name,
            kind=statement.kind,
            schema=schema,
            topic=topic,
            key_format=key,
            value_format=value,
            window=window,
            timestamp=properties.timestamp(),
            is_source=statement.is_source,
            topic_settings=properties.topic(is_compacted=is_compacted(statement.kind, window)),
            sql=sql,
            ttl_ms=properties.table_ttl_ms(statement.kind),
        )
        wrap = properties.flag("WRAP_SINGLE_VALUE")
        source = replace(source, value_format=replace(source.value_format, wrap=wrap))
        source = with_inferred_columns(source, self.registry)
        source = self._complete(source, wrap, statement)
        old = self.catalog.sources.get(source.name)
        if old is not None:
            is_made_by_query = bool(self.catalog.queries_writing(old.name))
            check_redefinition(statement, old, source, is_made_by_query=is_made_by_query)
        self._check_topic(source, statement.span)
        self.catalog.sources[source.name] = source
        return source

    def exists(self, statement: CreateSource | CreateAsSelect) -> bool:
        """Return whether IF NOT EXISTS finds the source; refuse a name that is taken."""
        found = self.catalog.sources.get(statement.name)
        if found is None:
            return False
        if statement.if_not_exists:
            return True
        is_source = isinstance(statement, CreateSource) and statement.is_source
        if statement.or_replace and not (found.is_source or is_source):
            return False
        if statement.or_replace:
            raise _not_replaceable(statement)
        raise AnalysisError(
            "already-exists",
            f"a {found.kind.lower()} {statement.name} exists already",
            fix="choose another name, or DROP it first",
            span=statement.span,
        )

    def _column(self, column: Column, statement: CreateSource) -> SourceColumn:
        if column.name in SYSTEM_COLUMNS:
            raise AnalysisError(
                "reserved-name",
                f"{column.name} is the name of a system column",
                fix="choose another name",
                span=column.span,
            )
        type_ = resolve(column.type, self.catalog.types)
        if column.constraint in ("KEY", "PRIMARY KEY"):
            wanted = "PRIMARY KEY" if statement.kind == "TABLE" else "KEY"
            if column.constraint != wanted:
                raise AnalysisError(
                    "wrong-constraint",
                    f"column {column.name} of a {statement.kind} is {column.constraint}",
                    fix=f"write {wanted}",
                    span=column.span,
                )
            return SourceColumn(column.name, type_, "KEY")
        if column.constraint is None:
            return SourceColumn(column.name, type_)
        wanted_type = HEADERS_TYPE if column.constraint == "HEADERS" else BYTES
        if type_ != wanted_type:
            raise SqlTypeError(
                "header-type",
                f"column {column.name} has headers and must be {wanted_type}, not {type_}",
                span=column.span,
            )
        return SourceColumn(column.name, type_, "HEADERS", column.header)

    def _format(
        self,
        properties: WithProperties,
        side: str,
        setting: str,
        otherwise: str | None,
        statement: CreateSource,
    ) -> FormatSpec:
        name = properties.format(side) or self.settings.get(setting) or otherwise
        if name is None:
            raise AnalysisError(
                "missing-property",
                f"CREATE {statement.kind} needs a {side}_FORMAT",
                fix=f"add {side}_FORMAT='JSON', or set {setting}",
                span=statement.span,
            )
        found = format_named(name)
        options = FormatProperties.of(properties.values, is_key=side == "KEY")
        spec = FormatSpec(found.name, options)
        return with_key_schema_name(spec, statement.name) if side == "KEY" else spec

    def _complete(
        self, source: DataSource, wrap: bool | None, statement: CreateSource
    ) -> DataSource:
        """Infer missing columns, then run the checks that need all columns."""
        schema = source.schema
        if not schema.columns:
            raise AnalysisError(
                "no-columns",
                f"{source.name} has no columns",
                fix="declare columns, or use a format with a schema registry",
                span=statement.span,
            )
        self._check_columns(schema, statement)
        if source.is_table and not schema.key:
            raise AnalysisError(
                "missing-primary-key",
                f"table {source.name} has no PRIMARY KEY",
                fix="declare a column as PRIMARY KEY",
                span=statement.span,
            )
        if source.window is not None and not schema.key:
            raise AnalysisError(
                "windowed-without-key",
                f"{source.name} has a WINDOW_TYPE but no key columns",
                fix="declare the key, or leave WINDOW_TYPE out",
                span=statement.span,
            )
        if wrap is None:
            wrap = default_wrap(source.value_format, schema.value, self.settings)
        source = replace(source, value_format=replace(source.value_format, wrap=wrap))
        check_timestamp(source.timestamp, schema, statement.span)
        validate_formats(source)
        return source

    def _check_columns(self, schema: Schema, statement: CreateSource) -> None:
        seen: set[str] = set()
        for column in schema.columns:
            if column.name in seen:
                raise AnalysisError(
                    "duplicate-column",
                    f"{statement.name} has two columns {column.name}",
                    fix="rename one of them",
                    span=statement.span,
                )
            seen.add(column.name)
        headers = schema.headers
        names = [column.header for column in headers]
        if None in names and len(names) > 1:
            raise AnalysisError(
                "headers-twice",
                f"{statement.name} has several columns for all headers",
                fix="keep one column HEADERS, or one HEADER('key') for each key",
                span=statement.span,
            )
        if len(set(names)) < len(names):
            raise AnalysisError(
                "headers-twice",
                f"{statement.name} has two columns for one header",
                span=statement.span,
            )

    def _check_topic(self, source: DataSource, span: Span | None) -> None:
        known, wanted = self.catalog.topics.get(source.topic), source.topic_settings.partitions
        if known is not None and wanted is not None and known != wanted:
            raise AnalysisError(
                "topic-exists",
                f"topic {source.topic!r} has {known} partitions, not {wanted}",
                fix="leave PARTITIONS out, or use another topic",
                span=span,
            )
        self.catalog.topics.setdefault(source.topic, wanted or self.catalog.default_partitions)


def _not_replaceable(statement: CreateSource | CreateAsSelect) -> AnalysisError:
    return AnalysisError(
        "replace-source",
        f"{statement.name}: SOURCE streams and tables cannot be replaced",
        fix="DROP it first, and leave OR REPLACE out",
        span=statement.span,
    )
