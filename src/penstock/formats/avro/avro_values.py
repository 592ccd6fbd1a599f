"""Reads and writes Avro for the DSL, with fastavro's values, logical types included."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.read import SchemaResolutionError
from fastavro.schema import SchemaParseException, UnknownType

from penstock.formats.plain_values import plain
from penstock.formats.registered import Imports
from penstock.registry.registry import Schema, SchemaReference
from penstock.serde.from_json import reader_for

#: What fastavro raises for bytes that are not of the schema.
_UNREADABLE = (
    EOFError, IndexError, KeyError, OverflowError, SchemaResolutionError, TypeError, ValueError,
    MemoryError,
)  # fmt: skip
#: What fastavro raises for values that are not of the schema.
_UNWRITABLE = (ArithmeticError, AttributeError, KeyError, IndexError, TypeError, ValueError)


class AvroCodec:
    """Values of one Avro schema; see ``SchemaCodec``."""

    def __init__(self, text: str | None, of: type | None) -> None:
        self._text, self._of = text, of
        self._parsed = None if text is None else _parsed(text, ())
        self._build: Callable[[Any], Any] | None = None if of is None else reader_for(of)

    def own(self, refer: Callable[[str, Schema], SchemaReference]) -> Schema | None:
        return None if self._text is None else Schema("AVRO", self._text)

    def record_name(self, schema: Schema, imports: Imports) -> str | None:
        parsed = _parsed(schema.text, imports.values())
        name = parsed.get("name") if isinstance(parsed, dict) else None
        return None if name is None else str(name)

    def reader(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        written, build = _parsed(schema.text, imports.values()), self._build
        # Without a reader schema, reading is faster. For the same schema the result is the same.
        wanted = None if self._text in (None, schema.text) else self._parsed

        def read(data: bytes) -> Any:
            try:
                value = schemaless_reader(BytesIO(data), written, wanted)
            except _UNREADABLE as error:
                raise ValueError(f"not Avro of the schema: {_reason(error)}") from error
            return value if build is None else build(value)

        return read

    def writer(self, schema: Schema, imports: Imports) -> Callable[[Any], bytes]:
        parsed, of = _parsed(schema.text, imports.values()), self._of
        is_record = isinstance(parsed, dict) and parsed.get("type") == "record"

        def write(value: Any) -> bytes:
            if of is not None and not _is_instance(value, of):
                raise _wrong_class(of.__name__, value)
            members = value if type(value) is dict and of is None else plain(value)
            if is_record and not isinstance(members, Mapping):
                raise _wrong_class("a dict or an object with fields", value)
            try:
                return _written(parsed, members)
            except _UNWRITABLE as error:
                if members is not value:
                    raise _unfit(error) from error
            # The dict may contain objects. Looking for them first would slow down all other dicts.
            try:
                return _written(parsed, plain(value))
            except _UNWRITABLE as error:
                raise _unfit(error) from error

        return write


def _written(parsed: Any, value: Any) -> bytes:
    out = BytesIO()
    schemaless_writer(out, parsed, value)
    return out.getvalue()


def _unfit(error: BaseException) -> ValueError:
    return ValueError(f"not a value of the Avro schema: {_reason(error)}")


def _parsed(text: str, imported: Iterable[str]) -> Any:
    """Return a schema as fastavro works with it; the imported ones define names for it."""
    names: dict[str, Any] = {}
    parsed: Any = None
    try:
        for each in (*imported, text):
            parsed = parse_schema(json.loads(each), named_schemas=names)
    except (SchemaParseException, UnknownType, KeyError, TypeError) as error:
        raise ValueError(f"not an Avro schema: {error!r}") from error
    return parsed


def _is_instance(value: Any, of: type) -> bool:
    try:
        return isinstance(value, of)
    except TypeError:
        # ``isinstance`` refuses a typed dict, whose values are dicts.
        return isinstance(value, dict)


def _wrong_class(wanted: str, value: Any) -> TypeError:
    return TypeError(f"Avro serde takes {wanted}, got {type(value).__name__} {value!r:.80}")


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
