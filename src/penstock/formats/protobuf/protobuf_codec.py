"""Reads and writes Protobuf for the DSL: messages of generated classes, or dicts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.message_path import read_path, written_path
from penstock.formats.protobuf.protobuf_file import ProtoFile, is_built_in
from penstock.formats.protobuf.protobuf_values import dict_maker, message_maker
from penstock.formats.registered import Imports
from penstock.registry.registry import Schema, SchemaReference

Refer = Callable[[str, Schema], SchemaReference]
Parse = Callable[[bytes], Any]


class ClassCodec:
    """Messages of a generated class; see ``SchemaCodec``."""

    def __init__(self, cls: type) -> None:
        if not issubclass(cls, Message):
            raise TypeError(f"{cls.__name__} is not a class that protoc generated")
        self._class, self._descriptor = cls, cls.DESCRIPTOR

    def own(self, refer: Refer) -> Schema | None:
        return _file_schema(self._descriptor.file, refer)

    def record_name(self, schema: Schema, imports: Imports) -> str | None:
        return self._descriptor.full_name

    def reader(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        return _reader(schema, imports, lambda _: self._class.FromString)

    def writer(self, schema: Schema, imports: Imports) -> Callable[[Any], bytes]:
        place = _place(schema, imports, self._descriptor.full_name)
        cls = self._class

        def write(value: Any) -> bytes:
            if not isinstance(value, cls):
                raise TypeError(
                    f"Protobuf serde takes {cls.__name__}, got {type(value).__name__} {value!r:.80}"
                )
            return place + _serialized(value)

        return write


class DictCodec:
    """Messages as dicts; see ``SchemaCodec``."""

    def __init__(self, text: str | None, message: str | None) -> None:
        self._text, self._name = text, message
        self._message = None if text is None else ProtoFile.parse(text, {}).message(message)

    def own(self, refer: Refer) -> Schema | None:
        return None if self._text is None else Schema("PROTOBUF", self._text)

    def record_name(self, schema: Schema, imports: Imports) -> str | None:
        return ProtoFile.parse(schema.text, imports).message(self._name).full_name

    def reader(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        def parser(written: Descriptor) -> Parse:
            wanted = self._message or written
            parse, to_dict = GetMessageClass(wanted).FromString, dict_maker(wanted)
            return lambda data: to_dict(parse(data))

        return _reader(schema, imports, parser)

    def writer(self, schema: Schema, imports: Imports) -> Callable[[Any], bytes]:
        message = self._message or ProtoFile.parse(schema.text, imports).message(self._name)
        place, make = _place(schema, imports, message.full_name), message_maker(message)

        def write(value: Any) -> bytes:
            if not isinstance(value, dict):
                raise TypeError(
                    f"Protobuf serde takes a dict, got {type(value).__name__} {value!r:.80}"
                )
            try:
                made = make(value)
            except (TypeError, ValueError, OverflowError, AttributeError) as error:
                raise ValueError(f"not a {message.full_name}: {error}") from error
            return place + _serialized(made)

        return write


def _serialized(message: Message) -> bytes:
    try:
        return message.SerializeToString()
    except EncodeError as error:
        raise ValueError(str(error)) from error


def _place(schema: Schema, imports: Imports, full_name: str) -> bytes:
    file = ProtoFile.parse(schema.text, imports)
    return written_path(file.path_of(file.message(full_name)))


def _reader(
    schema: Schema, imports: Imports, parser: Callable[[Descriptor], Parse]
) -> Callable[[bytes], Any]:
    """Return the function that finds out which message a payload is, and reads it."""
    file = ProtoFile.parse(schema.text, imports)
    known: dict[tuple[int, ...], Parse] = {}

    def read(data: bytes) -> Any:
        path, start = read_path(data)
        parse = known.get(path)
        if parse is None:
            parse = known[path] = parser(file.at(path))
        try:
            return parse(data[start:])
        except DecodeError as error:
            raise ValueError(f"not Protobuf of the schema: {error}") from error

    return read


def _file_schema(file: Any, refer: Refer) -> Schema:
    """Return the schema of a generated file: its descriptor, as in Confluent's Python client."""
    references = tuple(
        refer(needed.name, _file_schema(needed, refer))
        for needed in file.dependencies
        if not is_built_in(needed.name)
    )
    descriptor = FileDescriptorProto()
    file.CopyToProto(descriptor)
    return Schema("PROTOBUF", b64encode(descriptor.SerializeToString()).decode(), references)
