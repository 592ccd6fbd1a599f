"""JSON with a registered JSON Schema, for programs of the DSL. Rows of SQL: ``json_language``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from penstock.formats.json.json_schema_values import JsonSchemaCodec
from penstock.formats.schema_serde import SchemaCodec, SchemaSerde
from penstock.formats.schema_text import JsonSchemaLike, json_text
from penstock.registry.registry import SchemaKind
from penstock.serde.shape import Shape, TypeShape
from penstock.settings.schema_registry import FAIL_INVALID_JSON


class JsonSchemaSerde(SchemaSerde[Any]):
    r"""JSON with a schema registry, for dicts or objects of a class, as Confluent writes it.

    Values are not checked against the schema unless ``json.fail.invalid.schema`` is set, as in
    Java. A class checks the types of its own members when a record is read.

    Args:
        schema: the JSON Schema as text, as a parsed dict, or in a file (a ``Path``). Without a
            schema, a pydantic model in ``of`` brings its own; otherwise values are written with
            the newest schema of the subject.
        of: a dataclass, typed dict, named tuple or pydantic model for values. Without it, values
            are what JSON has: dicts, lists, text and numbers.
        config: settings of this serde alone, such as ``schema.registry.url``. All others come
            from the application.

    >>> schema = {"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}}
    >>> serde = JsonSchemaSerde(schema).configure({"schema.registry.url": "mock://json"})
    >>> serde.serialize("orders", {"id": 5})
    b'\x00\x00\x00\x00\x01{"id":5}'
    """

    kind: SchemaKind = "JSON"

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
        derive = getattr(self._of, "model_json_schema", None)
        if self._given is None and derive is not None:
            self._given = derive()
        # From here on the text is the schema: a file need not be there on the workers.
        self._given = json_text(self._given)
        is_checked = FAIL_INVALID_JSON.value_in(self._settings)
        return JsonSchemaCodec(self._given, self._of, is_checked=is_checked)

    def _copy(self, settings: dict[str, Any], *, is_key: bool) -> Self:
        # A setting decides whether values are checked.
        made = super()._copy(settings, is_key=is_key)
        made._codec = made._new_codec()
        return made

    @property
    def shape(self) -> Shape | None:
        return None if self._of is None else TypeShape(self._of)

    def _arguments(self) -> tuple[Any, ...]:
        return self._given, self._of
