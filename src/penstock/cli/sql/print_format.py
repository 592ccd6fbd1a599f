"""How PRINT shows keys and values: decoded if their format is known, otherwise as text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from penstock.cli.sql.results import plain
from penstock.cli.text_format import as_printable
from penstock.formats.language import format_of_kind, language_of
from penstock.formats.registered import imports_of, payload_of, schema_id_of
from penstock.model.windows.windowed import Windowed
from penstock.registry.registry import RegistryError, SchemaRegistry
from penstock.serde.base import Serde
from penstock.sql import SqlEngine
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import SourceColumn

#: Formats whose bytes are readable text.
_TEXTS = ("JSON", "DELIMITED", "NONE")
Decode = Callable[[bytes], Any]


class PrintFormat:
    """Decode the records of one topic for the user to read.

    If a stream or table has the topic, its format is used. Otherwise, a record that names a schema
    of the registry is decoded with that schema. Any other record is shown as text.
    """

    def __init__(self, engine: SqlEngine, topic: str) -> None:
        self._topic = topic
        self._registry = engine.registry
        self._by_id: dict[int, Decode] = {}
        found = engine.sources.values()
        self._source = next((source for source in found if source.topic == topic), None)
        self._serdes = None if self._source is None else engine.serdes(self._source)

    def key(self, data: bytes | None) -> Any:
        """Return a key as a value that JSON can hold."""
        return self._shown(data, self._declared(is_key=True))

    def value(self, data: bytes | None) -> Any:
        """Return a value as a value that JSON can hold."""
        return self._shown(data, self._declared(is_key=False))

    def _declared(self, *, is_key: bool) -> Decode | None:
        source, serdes = self._source, self._serdes
        if source is None or serdes is None:
            return None
        spec = source.key_format if is_key else source.value_format
        columns = source.schema.key if is_key else source.schema.value
        if spec.name in _TEXTS or not columns:
            return None
        return _decoder(serdes[0] if is_key else serdes[1], columns, source)

    def _shown(self, data: bytes | None, declared: Decode | None) -> Any:
        if data is None:
            return None
        for decode in (declared, self._with_schema):
            try:
                if decode is not None:
                    return decode(data)
            # PRINT shows every record, also a broken one: it is how users look at those.
            except (ValueError, RegistryError, KeyError, TypeError, IndexError):
                continue
        return as_printable(data)

    def _with_schema(self, data: bytes) -> Any:
        schema_id = schema_id_of(data)
        if schema_id not in self._by_id:
            self._by_id[schema_id] = _schema_decoder(schema_id, self._registry)
        return self._by_id[schema_id](data)


def _decoder(serde: Serde[Any], columns: Sequence[SourceColumn], source: DataSource) -> Decode:
    def decode(data: bytes) -> Any:
        row: Any = serde.deserialize(source.topic, data)
        window: dict[str, int] = {}
        if isinstance(row, Windowed):
            window = {"WINDOWSTART": row.window.start, "WINDOWEND": row.window.end}
            row = row.key
        values = [plain(value, c.type) for value, c in zip(row, columns, strict=True)]
        if len(values) == 1 and not window and columns[0].namespace == "KEY":
            return values[0]
        return dict(zip((c.name for c in columns), values, strict=True)) | window

    return decode


def _schema_decoder(schema_id: int, registry: SchemaRegistry) -> Decode:
    schema = registry.by_id(schema_id)
    language = language_of(format_of_kind(schema.kind))
    values = language.values(schema, imports_of(schema, registry))
    return lambda data: _jsonable(values(payload_of(data)))


def _jsonable(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [_jsonable(item) for item in value]
        case bytes():
            return b64encode(value).decode()
        case Decimal():
            return str(value)
        case _:
            return value
