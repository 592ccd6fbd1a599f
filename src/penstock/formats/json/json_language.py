"""JSON Schema for rows of SQL, as a ``SchemaLanguage``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.formats.json import json_schema
from penstock.formats.json.json_schema import JsonSchema
from penstock.formats.json.json_schema_codec import json_reader, json_writer
from penstock.formats.registered import Imports, Row
from penstock.formats.wire import Wire, row_converter
from penstock.registry.registry import Schema, SchemaKind

if TYPE_CHECKING:
    from penstock.formats.rows import RowFormat


class JsonLanguage:
    """JSON Schema, with Kafka Connect's hints about types."""

    kind: SchemaKind = "JSON"

    def check(self, schema: Schema, imports: Imports) -> None:
        if not isinstance(JsonSchema.parse(schema.text, imports).root, dict | bool):
            raise ValueError("a JSON Schema is an object")

    def serialized(self, schema: Schema, imports: Imports) -> Schema:
        return schema

    def wire(self, schema: Schema, imports: Imports, full_name: str | None) -> Wire:
        return JsonSchema.parse(schema.text, imports).wire()

    def values(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        return json_reader(JsonSchema.parse(schema.text, imports))

    def decoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[bytes], Row]:
        parsed = JsonSchema.parse(schema.text, imports)
        read = json_reader(parsed)
        convert = row_converter(parsed.wire(), row.columns, is_unwrapped=row.is_unwrapped)
        return lambda data: convert(read(data))

    def encoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[Row], bytes]:
        parsed = JsonSchema.parse(schema.text, imports)
        return json_writer(parsed, row.columns, is_unwrapped=row.is_unwrapped)

    def schema_of(self, row: RowFormat) -> Schema:
        node = json_schema.schema_of_columns(row.columns, is_unwrapped=row.is_unwrapped)
        return Schema("JSON", json.dumps(node, separators=(",", ":")))
