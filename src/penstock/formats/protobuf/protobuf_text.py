"""From the text of a ``.proto`` file to its descriptor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

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
class TextReader:
    """Reads files, and keeps what descriptors cannot hold, by message and field name."""

    #: Parameters that Kafka Connect left at a field.
    parameters: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    #: Optional fields of proto3.
    optional: set[tuple[str, str]] = field(default_factory=set)

    def read(self, text: str) -> FileDescriptorProto:
        """Return the descriptor of a file; raise ValueError if the text is not a schema."""
        file = FileDescriptorProto()
        parsed = _parsed(text)
        file.syntax = parsed.syntax or "proto2"
        elements = parsed.file_elements
        file.package = next((e.name for e in elements if isinstance(e, ast.Package)), "")
        for element in elements:
            if isinstance(element, ast.Import):
                file.dependency.append(element.name)
        for element in elements:
            if isinstance(element, ast.Message):
                self._message(file.message_type.add(), element, file.package, file.syntax)
            elif isinstance(element, ast.Enum):
                _fill_enum(file.enum_type.add(), element)
        return file

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
                # An optional field of proto3 has a oneof of its own, after all others.
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
    """A syntax error that the parser reports."""


class _Listener:
    """Raises the errors that ANTLR would print."""

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
    """Add a map field: Protobuf writes it as repeated entries, with a message for the entry."""
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
