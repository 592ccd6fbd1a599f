"""Protobuf on topics, for programs of the DSL. Rows of SQL: ``protobuf_language``."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from penstock.formats.language import format_module
from penstock.formats.schema_serde import SchemaCodec, SchemaSerde
from penstock.formats.schema_text import file_text
from penstock.registry.registry import SchemaKind


class ProtobufSerde(SchemaSerde[Any]):
    r"""Protobuf with a schema registry: messages of a generated class, or dicts.

    The bytes are those of Confluent's serializers: the id of the schema, the place of the message
    in it, the message. A message is read by field numbers, so fields that its writer did not know
    have their defaults.

    In a dict, every field has its name from the schema. Fields that are not set are None if the
    schema can tell, and the default of their type if not. Enums are names, timestamps are
    ``datetime``, durations ``timedelta``, and wrappers such as ``StringValue`` the value or None.

    Args:
        schema: a class that ``protoc`` generated, for messages; or the text of a ``.proto`` file,
            or the file itself (a ``Path``), for dicts. Without a schema, records are read as
            dicts by the schema they were written with, and written with the newest schema of the
            subject.
        message: the full name of the message in the text; else it is the first one.
        config: settings of this serde alone, such as ``schema.registry.url``. All others come
            from the application.

    >>> text = 'syntax = "proto3"; message Order { int64 id = 1; }'
    >>> serde = ProtobufSerde(text).configure({"schema.registry.url": "mock://protobuf"})
    >>> serde.serialize("orders", {"id": 5})
    b'\x00\x00\x00\x00\x01\x00\x08\x05'
    >>> serde.deserialize("orders", b"\0\0\0\0\1\0\x08\5")
    {'id': 5}
    """

    kind: SchemaKind = "PROTOBUF"

    def __init__(
        self,
        schema: type | str | PathLike[str] | None = None,
        message: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self._given, self._message = schema, message
        super().__init__(config)

    def _new_codec(self) -> SchemaCodec:
        module = format_module("protobuf.protobuf_codec", "PROTOBUF")
        codec: SchemaCodec
        if isinstance(self._given, type):
            codec = module.ClassCodec(self._given)
        else:
            # From here on the text is the schema: a file need not be there on the workers.
            self._given = None if self._given is None else file_text(self._given)
            codec = module.DictCodec(self._given, self._message)
        return codec

    def _arguments(self) -> tuple[Any, ...]:
        return self._given, self._message
