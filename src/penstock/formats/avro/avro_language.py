"""Avro for rows of SQL, as a ``SchemaLanguage``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.formats.avro import avro_schema
from penstock.formats.avro.avro_codec import avro_reader, avro_writer
from penstock.formats.avro.avro_schema import AvroSchema
from penstock.formats.registered import Imports, Row
from penstock.formats.wire import Wire, row_converter
from penstock.registry.registry import Schema, SchemaKind

if TYPE_CHECKING:
    from penstock.formats.rows import RowFormat


class AvroLanguage:
    """Avro, with the names that ksqlDB uses for records."""

    kind: SchemaKind = "AVRO"

    def check(self, schema: Schema, imports: Imports) -> None:
        avro_reader(self._parsed(schema, imports))

    def serialized(self, schema: Schema, imports: Imports) -> Schema:
        return schema

    def wire(self, schema: Schema, imports: Imports, full_name: str | None) -> Wire:
        return self._parsed(schema, imports).wire()

    def values(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        return avro_reader(self._parsed(schema, imports))

    def decoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[bytes], Row]:
        parsed = self._parsed(schema, imports)
        # The schema has underscores where column names have dots.
        columns = [avro_schema.as_field(column) for column in row.columns]
        read = avro_reader(parsed)
        convert = row_converter(parsed.wire(), columns, is_unwrapped=row.is_unwrapped)
        return lambda data: convert(read(data))

    def encoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[Row], bytes]:
        parsed = self._parsed(schema, imports)
        return avro_writer(parsed, row.columns, is_unwrapped=row.is_unwrapped)

    def schema_of(self, row: RowFormat) -> Schema:
        name = row.properties.schema_full_name or avro_schema.VALUE_NAME
        node = avro_schema.schema_of_columns(row.columns, name, is_unwrapped=row.is_unwrapped)
        return Schema("AVRO", json.dumps(node, separators=(",", ":")))

    def _parsed(self, schema: Schema, imports: Imports) -> AvroSchema:
        return AvroSchema.parse(schema.text, list(imports.values()))
