"""Text of ``.proto`` files to the descriptors that Protobuf's runtime works with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

ROOT = "schema.proto"

_STANDARD: dict[str, Any] = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (
        any_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2,
        timestamp_pb2, wrappers_pb2,
    )
}  # fmt: skip
#: Files that every registry knows without being told.
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
_SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
_LABELS = {
    None: FieldDescriptorProto.LABEL_OPTIONAL,
    ast.FieldCardinality.OPTIONAL: FieldDescriptorProto.LABEL_OPTIONAL,
    ast.FieldCardinality.REQUIRED: FieldDescriptorProto.LABEL_REQUIRED,
    ast.FieldCardinality.REPEATED: FieldDescriptorProto.LABEL_REPEATED,
}


@dataclass(slots=True)
class ProtoFile:
    """The messages of a schema in the order of its text, and what it says about their fields."""

    messages: list[Descriptor]
    #: Parameters that Kafka Connect left at a field, by message and field name.
    parameters: Mapping[tuple[str, str], Mapping[str, str]]
    #: Optional fields of proto3, by message and field name.
    optional: frozenset[tuple[str, str]]

    @staticmethod
    def parse(text: str, imports: Mapping[str, str]) -> ProtoFile:
        """Reads a schema's text.

        Raises:
            ValueError: when it is no schema, or something it imports is missing.
        """
        reader = _Reader(imports)
        root = reader.add(ROOT, text)
        return ProtoFile(
            [root.message_types_by_name[m.name] for m in reader.files[ROOT].message_type],
            reader.parameters,
            frozenset(reader.optional),
        )

    def message(self, full_name: str | None) -> Descriptor:
        """Finds a message by its full name; the first one when no name is given."""
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
        """Finds a message by its place: the index at each level of nesting."""
        first, *rest = path
        try:
            found = self.messages[first]
            for index in rest:
                found = found.nested_types[index]
        except IndexError:
            raise ValueError(f"the schema has no message number {[first, *rest]}") from None
        return found

    def path_of(self, message: Descriptor) -> list[int]:
        """Gives the place of a message, as ``at`` takes it."""
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
    parameters: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    optional: set[tuple[str, str]] = field(default_factory=set)

    def add(self, name: str, text: str) -> Any:
        file = FileDescriptorProto(name=name)
        self.files[name] = file
        parsed = _parsed(text)
        file.syntax = parsed.syntax or "proto2"
        elements = parsed.file_elements
        file.package = next((e.name for e in elements if isinstance(e, ast.Package)), "")
        for element in elements:
            if isinstance(element, ast.Import):
                self._import(element.name)
                file.dependency.append(element.name)
        for element in elements:
            if isinstance(element, ast.Message):
                self._message(file.message_type.add(), element, file.package, file.syntax)
            elif isinstance(element, ast.Enum):
                _fill_enum(file.enum_type.add(), element)
        return self._added(file)

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

    def _message(
        self, target: DescriptorProto, source: ast.Message, scope: str, syntax: str
    ) -> None:
        target.name = source.name
        full = f"{scope}.{source.name}" if scope else source.name
        for element in source.elements:
            match element:
                case ast.Field():
                    self._field(target, element, full, syntax)
                case ast.MapField():
                    _fill_map(target, element)
                case ast.OneOf():
                    index = len(target.oneof_decl)
                    target.oneof_decl.add(name=element.name)
                    for member in element.elements:
                        if isinstance(member, ast.Field):
                            self._plain_field(target, member, full).oneof_index = index
                case ast.Message():
                    self._message(target.nested_type.add(), element, full, syntax)
                case ast.Enum():
                    _fill_enum(target.enum_type.add(), element)
                case _:
                    pass
        for made in target.field:
            if made.proto3_optional:
                # Protobuf tells an unset field by a oneof of its own, behind all others.
                made.oneof_index = len(target.oneof_decl)
                target.oneof_decl.add(name=f"_{made.name}")

    def _field(self, target: DescriptorProto, source: ast.Field, full: str, syntax: str) -> None:
        made = self._plain_field(target, source, full)
        if syntax == "proto3" and source.cardinality is ast.FieldCardinality.OPTIONAL:
            self.optional.add((full, source.name))
            made.proto3_optional = True

    def _plain_field(
        self, target: DescriptorProto, source: ast.Field, full: str
    ) -> FieldDescriptorProto:
        made = target.field.add(
            name=source.name, number=source.number, label=_LABELS[source.cardinality]
        )
        _set_type(made, source.type)
        parameters = _connect_parameters(source.options)
        if parameters:
            self.parameters[full, source.name] = parameters
        return made


def _parsed(text: str) -> ast.File:
    try:
        return Parser(setup_lexer=_quiet, setup_parser=_quiet).parse(text)
    except _SyntaxProblem as problem:
        raise ValueError(f"not a Protobuf schema: {problem}") from None


class _SyntaxProblem(Exception):  # noqa: N818 - becomes a ValueError
    """What the parser complains about."""


class _Listener:
    """Raises what ANTLR would print."""

    def syntaxError(  # noqa: N802 - ANTLR's name
        self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any
    ) -> None:
        raise _SyntaxProblem(f"line {line}, column {column + 1}: {message}")

    def __getattr__(self, name: str) -> Any:
        # Reports of ambiguity are about the grammar, not about the text.
        return lambda *_: None


def _quiet(part: Any) -> None:
    part.removeErrorListeners()
    part.addErrorListener(_Listener())


def _fill_enum(target: EnumDescriptorProto, source: ast.Enum) -> None:
    target.name = source.name
    for element in source.elements:
        if isinstance(element, ast.EnumValue):
            target.value.add(name=element.name, number=element.number)
        elif isinstance(element, ast.Option) and element.name == "allow_alias":
            target.options.allow_alias = bool(element.value)


def _fill_map(target: DescriptorProto, source: ast.MapField) -> None:
    """A map is short for repeated entries of a message of its own."""
    words = source.name.split("_")
    name = "".join(word[:1].upper() + word[1:] for word in words) + "Entry"
    entry = target.nested_type.add(name=name)
    entry.options.map_entry = True
    optional = FieldDescriptorProto.LABEL_OPTIONAL
    _set_type(entry.field.add(name="key", number=1, label=optional), source.key_type)
    _set_type(entry.field.add(name="value", number=2, label=optional), source.value_type)
    target.field.add(
        name=source.name,
        number=source.number,
        label=FieldDescriptorProto.LABEL_REPEATED,
        type_name=name,
    )


def _set_type(target: FieldDescriptorProto, name: str) -> None:
    if name in _SCALARS:
        target.type = _SCALARS[name]
    else:
        target.type_name = name


def _connect_parameters(options: Iterable[ast.Option]) -> dict[str, str]:
    for option in options:
        if option.name.strip("()").startswith("confluent.field_meta") and isinstance(
            option.value, ast.MessageLiteral
        ):
            return _parameters(option.value)
    return {}


def _parameters(meta: ast.MessageLiteral) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in meta.elements:
        if not isinstance(element, ast.MessageLiteralField) or element.name != "params":
            continue
        entries = element.value if isinstance(element.value, list) else [element.value]
        for entry in entries:
            if isinstance(entry, ast.MessageLiteral):
                pair = {
                    e.name: str(e.value)
                    for e in entry.elements
                    if isinstance(e, ast.MessageLiteralField)
                }
                found[pair.get("key", "")] = pair.get("value", "")
    return found
