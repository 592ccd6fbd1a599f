"""Avro on topics, for programs of the DSL. Rows of SQL: ``avro_language``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from penstock.formats.language import format_module
from penstock.formats.schema_serde import SchemaCodec, SchemaSerde
from penstock.formats.schema_text import JsonSchemaLike, json_text
from penstock.registry.registry import SchemaKind
from penstock.serde.shape import NamedMembers, Shape, TypeShape

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class AvroSerde(SchemaSerde[Any]):
    r"""Avro with a schema registry, for dicts or objects of a class, as Confluent writes it.

    A record is read by the schema it was written with, and then turned into the schema of the
    serde by Avro's rules: fields that were added take their defaults, fields that were removed
    are left out, numbers are widened.

    Args:
        schema: Avro's JSON as text, as a parsed dict, or in a file (a ``Path``). Without a
            schema, records are read as they were written, and written with the newest schema of
            the subject.
        of: a dataclass, typed dict, named tuple or pydantic model for records. Without it,
            records are dicts.
        config: settings of this serde alone, such as ``schema.registry.url``. All others come
            from the application.

    >>> schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    >>> serde = AvroSerde(schema).configure({"schema.registry.url": "mock://avro"})
    >>> serde.serialize("orders", {"id": 5})
    b'\x00\x00\x00\x00\x01\n'
    >>> serde.deserialize("orders", b"\0\0\0\0\1\n")
    {'id': 5}
    """

    kind: SchemaKind = "AVRO"

    def __init__(
        self,
        schema: JsonSchemaLike | None = None,
        of: type | None = None,
        *,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self._given, self._of = schema, of
        super().__init__(config)

    def _new_codec(self) -> SchemaCodec:
        given = self._given
        if isinstance(given, str) and given in _PRIMITIVES:
            given = f'"{given}"'
        # From here on the text is the schema: a file need not be there on the workers.
        self._given = json_text(given)
        codec: SchemaCodec
        codec = format_module("avro.avro_values", "AVRO").AvroCodec(self._given, self._of)
        return codec

    @property
    def shape(self) -> Shape | None:
        return TypeShape(self._of) if self._of is not None else record_shape(json_text(self._given))

    def _arguments(self) -> tuple[Any, ...]:
        return self._given, self._of


def record_shape(text: str | None) -> Shape | None:
    """Return the fields of a record schema; ``None`` for any other schema."""
    schema = None if text is None else orjson.loads(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return None
    return NamedMembers(schema["name"], {each["name"]: None for each in schema["fields"]})
