"""Parses Protobuf schemas, with the files they import, to descriptors of Protobuf's runtime."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.protobuf_text import TextReader

ROOT = "schema.proto"

_STANDARD: dict[str, Any] = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (
        any_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2,
        timestamp_pb2, wrappers_pb2,
    )
}  # fmt: skip
#: Files that every registry has built in.
_KNOWN: dict[str, str] = {
    "google/type/date.proto": 'syntax = "proto3"; package google.type;'
    " message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "google/type/timeofday.proto": 'syntax = "proto3"; package google.type;'
    " message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3;"
    " int32 nanos = 4; }",
    "confluent/type/decimal.proto": 'syntax = "proto3"; package confluent.type;'
    " message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }",
    "confluent/meta.proto": 'syntax = "proto3"; package confluent;'
    " message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }",
}


def is_built_in(name: str) -> bool:
    """Return whether a file can be imported without being in the registry."""
    return name in _STANDARD or name in _KNOWN


@dataclass(slots=True)
class ProtoFile:
    """The messages of a schema in the order of its text, and what the text says about fields."""

    messages: list[Descriptor]
    #: Parameters that Kafka Connect left at a field, by message and field name.
    parameters: Mapping[tuple[str, str], Mapping[str, str]]
    #: Optional fields of proto3, by message and field name.
    optional: frozenset[tuple[str, str]]

    @staticmethod
    def parse(text: str, imports: Mapping[str, str]) -> ProtoFile:
        """Read a schema's text.

        Raises:
            ValueError: when it is not a schema, or a file that it imports is missing.
        """
        reader = _Reader(imports)
        root = reader.add(ROOT, text)
        return ProtoFile(
            [root.message_types_by_name[m.name] for m in reader.files[ROOT].message_type],
            reader.texts.parameters,
            frozenset(reader.texts.optional),
        )

    def message(self, full_name: str | None) -> Descriptor:
        """Find a message by its full name; the first one when no name is given."""
        if not self.messages:
            raise ValueError("the schema has no message")
        if full_name is None:
            return self.messages[0]
        for each in _all_messages(self.messages):
            if each.full_name == full_name:
                return each
        names = ", ".join(each.full_name for each in self.messages)
        raise ValueError(f"the schema has no message {full_name!r}, only {names}")

    def at(self, path: Iterable[int]) -> Descriptor:
        """Find a message by its place: the index at each level of nesting."""
        first, *rest = path
        try:
            found = self.messages[first]
            for index in rest:
                found = found.nested_types[index]
        except IndexError:
            raise ValueError(f"the schema has no message number {[first, *rest]}") from None
        return found

    def path_of(self, message: Descriptor) -> list[int]:
        """Return the place of a message, as ``at`` takes it."""
        above = message.containing_type
        if above is None:
            return [[m.full_name for m in self.messages].index(message.full_name)]
        places = [nested.full_name for nested in above.nested_types]
        return [*self.path_of(above), places.index(message.full_name)]


def _all_messages(messages: Iterable[Descriptor]) -> Iterable[Descriptor]:
    for each in messages:
        yield each
        yield from _all_messages(each.nested_types)


@dataclass(slots=True)
class _Reader:
    """Adds a file and those it imports to one pool."""

    imports: Mapping[str, str]
    pool: DescriptorPool = field(default_factory=DescriptorPool)
    files: dict[str, FileDescriptorProto] = field(default_factory=dict)
    texts: TextReader = field(default_factory=TextReader)

    def add(self, name: str, text: str) -> Any:
        file = _decoded(text)
        if file is None:
            file = self.texts.read(text)
        else:
            self._learn(file)
        file.name = name
        self.files[name] = file
        for needed in file.dependency:
            self._import(needed)
        return self._added(file)

    def _learn(self, file: FileDescriptorProto) -> None:
        """Note what the descriptors of a file say about their fields."""
        nested = [(file.package, message) for message in file.message_type]
        while nested:
            scope, message = nested.pop()
            full = f"{scope}.{message.name}" if scope else message.name
            nested += [(full, inner) for inner in message.nested_type]
            for each in message.field:
                if each.proto3_optional:
                    self.texts.optional.add((full, each.name))
                parameters = _option_parameters(each)
                if parameters:
                    self.texts.parameters[full, each.name] = parameters

    def _added(self, file: FileDescriptorProto) -> Any:
        try:
            self.pool.AddSerializedFile(file.SerializeToString())
            return self.pool.FindFileByName(file.name)
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a Protobuf schema: {error}") from None

    def _import(self, name: str) -> None:
        if name in self.files:
            return
        if name in self.imports:
            self.add(name, self.imports[name])
        elif name in _STANDARD:
            file = FileDescriptorProto()
            _STANDARD[name].CopyToProto(file)
            self.files[name] = file
            for needed in file.dependency:
                self._import(needed)
            self._added(file)
        elif name in _KNOWN:
            self.add(name, _KNOWN[name])
        else:
            raise ValueError(f"the schema imports {name!r}, which is not among its references")


_BASE64 = re.compile(r"[A-Za-z0-9+/]+=*\s*")
# Where Confluent's options of a field are, and the parameters in them.
_META = """
syntax = "proto3";
message Options { Meta meta = 1088; }
message Meta { map<string, string> params = 2; }
"""


def _decoded(text: str) -> FileDescriptorProto | None:
    """Read a schema that is a descriptor in base64, as Confluent's Python client writes it."""
    if not _BASE64.fullmatch(text):
        return None
    try:
        return FileDescriptorProto.FromString(b64decode(text, validate=False))
    except (ValueError, DecodeError):
        raise ValueError("not a Protobuf schema: neither text nor a descriptor") from None


def encoded(text: str, imports: Mapping[str, str]) -> str:
    """Return a schema as a descriptor in base64."""
    reader = _Reader(imports)
    reader.add(ROOT, text)
    return b64encode(reader.files[ROOT].SerializeToString()).decode()


def _option_parameters(each: FieldDescriptorProto) -> dict[str, str]:
    if not each.HasField("options"):
        return {}
    options = GetMessageClass(_meta_options()).FromString(each.options.SerializeToString())
    return dict(options.meta.params)  # type: ignore[attr-defined]


@cache
def _meta_options() -> Descriptor:
    return ProtoFile.parse(_META, {}).message("Options")
