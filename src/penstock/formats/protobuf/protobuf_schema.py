"""From columns to the text of the Protobuf schema to register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.formats.errors import FormatTypeError
from penstock.formats.properties import Nullable
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

_DEFAULT_NAME = "ConnectDefault"
_SCALARS: dict[SqlType, str] = {
    BOOLEAN: "bool",
    INTEGER: "int32",
    BIGINT: "int64",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "bytes",
}
_WRAPPERS: dict[SqlType, str] = {
    BOOLEAN: "google.protobuf.BoolValue",
    INTEGER: "google.protobuf.Int32Value",
    BIGINT: "google.protobuf.Int64Value",
    DOUBLE: "google.protobuf.DoubleValue",
    STRING: "google.protobuf.StringValue",
    BYTES: "google.protobuf.BytesValue",
}
_MESSAGES: dict[SqlType, tuple[str, str]] = {
    DATE: ("google.type.Date", "google/type/date.proto"),
    TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}


def check_nesting(type_: SqlType, column: str) -> None:
    """Refuse arrays and maps directly inside arrays or maps: Protobuf cannot repeat them."""
    match type_:
        case ArrayType(inner) | MapType(_, inner):
            if isinstance(inner, ArrayType | MapType):
                raise FormatTypeError(
                    "format-nesting",
                    f"Protobuf cannot hold {type_} of column {column!r}:"
                    " arrays and maps may not be nested directly",
                    fix="put a STRUCT with one field around the inner one",
                )
            check_nesting(inner, column)
        case StructType(fields):
            for each in fields:
                check_nesting(each.type, column)
        case _:
            pass


def schema_text(columns: Sequence[Field], full_name: str | None, nullable: Nullable | None) -> str:
    """Return the schema of a message with these columns as fields, numbered from 1."""
    return _Text(nullable).file(columns, full_name)


@dataclass(slots=True)
class _Text:
    """Writes one file. Messages without a name are numbered."""

    nullable: Nullable | None
    imports: set[str] = field(default_factory=set)
    named: int = 0

    def file(self, columns: Sequence[Field], full_name: str | None) -> str:
        package, _, name = (full_name or self._new_name()).rpartition(".")
        message = self._message(name, columns, "")
        lines = ['syntax = "proto3";']
        if package:
            lines.append(f"package {package};")
        imports = [f'import "{each}";' for each in sorted(self.imports)]
        blocks = ["\n".join(lines), "\n".join(imports), message]
        return "\n\n".join(block for block in blocks if block) + "\n"

    def _new_name(self) -> str:
        self.named += 1
        return f"{_DEFAULT_NAME}{self.named}"

    def _message(self, name: str, fields: Sequence[Field], indent: str) -> str:
        lines, nested = [], []
        for number, each in enumerate(fields, 1):
            label, type_, options, inner = self._field(each, indent + "  ")
            lines.append(f"{indent}  {label}{type_} {each.name} = {number}{options};")
            nested += inner
        body = "\n".join(lines)
        parts = [body, *nested] if nested else [body]
        return f"{indent}message {name} {{\n" + "\n\n".join(parts) + f"\n{indent}}}"

    def _field(self, column: Field, indent: str) -> tuple[str, str, str, list[str]]:
        match column.type:
            case ArrayType(element):
                return ("repeated ", *self._type(Field(column.name, element), indent))
            case MapType(key, value):
                name = f"{self._new_name()}Entry"
                entry = self._entry(name, key, value, indent)
                return "repeated ", name, "", [entry]
            case _:
                label = "optional " if self.nullable == "OPTIONAL" else ""
                return (label, *self._type(column, indent))

    def _entry(self, name: str, key: SqlType, value: SqlType, indent: str) -> str:
        return self._message(name, [Field("key", key), Field("value", value)], indent)

    def _type(self, column: Field, indent: str) -> tuple[str, str, list[str]]:
        """Return a single value's type, the field's options and the messages it needs."""
        match column.type:
            case StructType(fields):
                name = self._new_name()
                if name == column.name:
                    name += "Message"
                return name, "", [self._message(name, fields, indent)]
            case DecimalType(precision, scale):
                self.imports |= {"confluent/meta.proto", "confluent/type/decimal.proto"}
                pairs = (("precision", precision), ("scale", scale))
                said = ", ".join(f'{{ value: "{v}", key: "{k}" }}' for k, v in pairs)
                options = f" [(confluent.field_meta) = {{ params: [{said}] }}]"
                return "confluent.type.Decimal", options, []
            case type_ if type_ in _MESSAGES:
                name, location = _MESSAGES[type_]
                self.imports.add(location)
                return name, "", []
            case type_ if self.nullable == "WRAPPER":
                self.imports.add("google/protobuf/wrappers.proto")
                return _WRAPPERS[type_], "", []
            case type_:
                return _SCALARS[type_], "", []
