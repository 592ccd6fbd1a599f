"""Protobuf for rows of SQL, as a ``SchemaLanguage``, and without a registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.message_path import read_path, written_path
from penstock.formats.protobuf.protobuf_file import ProtoFile, encoded
from penstock.formats.protobuf.protobuf_read import Messages
from penstock.formats.protobuf.protobuf_schema import schema_text
from penstock.formats.protobuf.protobuf_write import message_maker
from penstock.formats.registered import Imports, Row
from penstock.formats.wire import Wire, row_converter
from penstock.model.sql.types import Field, StructType
from penstock.registry.registry import Schema, SchemaKind

if TYPE_CHECKING:
    from penstock.formats.rows import RowFormat


class ProtobufLanguage:
    """Protobuf: a payload begins with the place of its message in the schema."""

    kind: SchemaKind = "PROTOBUF"

    def check(self, schema: Schema, imports: Imports) -> None:
        ProtoFile.parse(schema.text, imports).message(None)

    def serialized(self, schema: Schema, imports: Imports) -> Schema:
        return replace(schema, text=encoded(schema.text, imports))

    def wire(self, schema: Schema, imports: Imports, full_name: str | None) -> Wire:
        file = ProtoFile.parse(schema.text, imports)
        return Messages(file).wire(file.message(full_name))

    def values(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        file = ProtoFile.parse(schema.text, imports)
        return _by_place(file, lambda message: _value_reader(file, message))

    def decoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[bytes], Row]:
        file = ProtoFile.parse(schema.text, imports)
        return _by_place(file, lambda message: _row_reader(file, message, row.columns))

    def encoder(self, schema: Schema, imports: Imports, row: RowFormat) -> Callable[[Row], bytes]:
        file = ProtoFile.parse(schema.text, imports)
        message = file.message(row.properties.schema_full_name)
        place, make = written_path(file.path_of(message)), message_maker(message, row.columns)

        def encode(values: Row) -> bytes:
            data: bytes = make(values).SerializeToString()
            return place + data

        return encode

    def schema_of(self, row: RowFormat) -> Schema:
        properties = row.properties
        name = properties.schema_full_name
        return Schema("PROTOBUF", schema_text(row.columns, name, properties.nullable))


def plain_codec(row: RowFormat) -> tuple[Callable[[Row], bytes | None], Callable[[bytes], Row]]:
    """Return the functions of format PROTOBUF_NOSR: a message whose fields are the columns."""
    columns = _message_fields(row)
    file = ProtoFile.parse(schema_text(columns, None, row.properties.nullable), {})
    message = file.message(None)
    make, read = message_maker(message, columns), _row_reader(file, message, columns)
    if not row.is_unwrapped:
        return lambda values: make(values).SerializeToString(), read
    if not isinstance(row.columns[0].type, StructType):
        return lambda values: _bytes_or_none(make, values, values[0]), read
    names = [column.name for column in columns]

    def encode(values: Row) -> bytes | None:
        struct = values[0]
        return None if struct is None else _bytes_or_none(make, [struct.get(n) for n in names], 0)

    return encode, lambda data: (dict(zip(names, read(data), strict=True)),)


def _message_fields(row: RowFormat) -> tuple[Field, ...]:
    """Return the fields of the message: the columns, those of a single struct, or one value."""
    if not row.is_unwrapped:
        return row.columns
    type_ = row.columns[0].type
    return type_.fields if isinstance(type_, StructType) else (Field("value", type_),)


def _bytes_or_none(make: Callable[[Any], Any], values: Sequence[Any], test: Any) -> bytes | None:
    if test is None:
        return None
    data: bytes = make(values).SerializeToString()
    return data


def _row_reader(
    file: ProtoFile, message: Descriptor, columns: Sequence[Field]
) -> Callable[[bytes], Row]:
    read, wire = _value_reader(file, message), Messages(file).wire(message)
    convert = row_converter(wire, columns, is_unwrapped=False)
    return lambda data: convert(read(data))


def _value_reader(file: ProtoFile, message: Descriptor) -> Callable[[bytes], Any]:
    parse, extract = GetMessageClass(message).FromString, Messages(file).extractor(message)

    def read(data: bytes) -> Any:
        try:
            parsed = parse(data)
        except DecodeError as error:
            raise ValueError(f"not Protobuf of the schema: {error}") from None
        return extract(parsed)

    return read


def _by_place(
    file: ProtoFile, reader: Callable[[Descriptor], Callable[[bytes], Any]]
) -> Callable[[bytes], Any]:
    """Return the function that reads the place of a message, and then the message."""
    known: dict[tuple[int, ...], Callable[[bytes], Any]] = {}

    def read(data: bytes) -> Any:
        path, start = read_path(data)
        found = known.get(path)
        if found is None:
            found = known[path] = reader(file.at(path))
        return found(data[start:])

    return read
