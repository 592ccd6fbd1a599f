"""The formats by name, and checks of what each of them can hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.formats.columns import ColumnLike, kind_of, parts
from penstock.formats.errors import FormatError, FormatTypeError
from penstock.formats.properties import FormatProperties
from penstock.formats.protobuf.protobuf_schema import check_nesting
from penstock.model.sql.errors import did_you_mean
from penstock.model.sql.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)

_NO_PROPERTIES = FormatProperties()
_NESTED = (ArrayType, MapType, StructType)
_KAFKA_TYPES: tuple[SqlType, ...] = (INTEGER, BIGINT, DOUBLE, STRING, BYTES)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Format:
    """A format and what it can do.

    ``wraps`` and ``unwraps`` tell whether a single column can be written inside an envelope
    (a JSON object, an Avro record) and whether it can be written on its own.
    """

    name: str
    infers: bool = False
    wraps: bool = False
    unwraps: bool = False
    many_columns: bool = True
    needs_identifiers: bool = False
    properties: frozenset[str] = frozenset()
    #: Properties that a CREATE ... AS SELECT takes over from its source.
    inherited: frozenset[str] = frozenset()

    def supports_type(self, type_: SqlType) -> bool:
        """Return whether a column of the type can be written, map keys aside."""
        match self.name:
            case "NONE":
                return False
            case "KAFKA":
                return type_ in _KAFKA_TYPES
            case "DELIMITED":
                return not isinstance(type_, _NESTED)
            case _:
                return True

    def is_unwrapped(
        self, columns: Sequence[ColumnLike], *, is_key: bool, wrap: bool | None
    ) -> bool:
        """Return whether the only column is written without an envelope.

        ``wrap`` is the property WRAP_SINGLE_VALUE, None if it is not given. Keys do not have it:
        a single key column has no envelope if the format allows that.
        """
        if len(columns) != 1 or not self.unwraps:
            return False
        if wrap is not None:
            return not wrap
        return is_key or not self.wraps

    def validate(
        self,
        columns: Sequence[ColumnLike],
        *,
        is_key: bool,
        properties: FormatProperties = _NO_PROPERTIES,
        wrap: bool | None = None,
    ) -> None:
        """Refuse columns and properties that this format cannot handle.

        Raises:
            FormatTypeError: for a type the format cannot hold.
            FormatError: for everything else.
        """
        self._check_properties(properties, is_key=is_key)
        self._check_wrapping(columns, wrap)
        self._check_count(columns, is_key=is_key)
        for column in columns:
            self._check_type(column, is_key=is_key)
            if self.needs_identifiers:
                self._check_names(column)

    def _check_properties(self, properties: FormatProperties, *, is_key: bool) -> None:
        side = "KEY" if is_key else "VALUE"
        for name in properties.given():
            if name not in self.properties:
                raise FormatError(
                    "format-property",
                    f"format {self.name} has no property {side}_{name}",
                    fix=f"leave {side}_{name} out, or choose another format",
                )

    def _check_wrapping(self, columns: Sequence[ColumnLike], wrap: bool | None) -> None:
        if wrap is None:
            return
        if not (self.wraps if wrap else self.unwraps):
            raise FormatError(
                "format-wrapping",
                f"format {self.name} does not support WRAP_SINGLE_VALUE={str(wrap).lower()}",
                fix="leave WRAP_SINGLE_VALUE out",
            )
        if len(columns) != 1:
            raise FormatError(
                "format-wrapping",
                f"WRAP_SINGLE_VALUE needs exactly one value column, there are {len(columns)}",
                fix="leave WRAP_SINGLE_VALUE out",
            )

    def _check_count(self, columns: Sequence[ColumnLike], *, is_key: bool) -> None:
        side = "key" if is_key else "value"
        names = ", ".join(column.name for column in columns)
        if self.name == "NONE" and columns:
            raise FormatError(
                "format-columns",
                f"format NONE can only be used without columns, got {names}",
                fix="choose another format",
            )
        if len(columns) > 1 and not self.many_columns:
            raise FormatError(
                "format-columns",
                f"format {self.name} holds one column only, but the {side} has {names}",
                fix=f"write WITH ({side.upper()}_FORMAT='JSON'), or another format that holds"
                " several columns",
            )

    def _check_type(self, column: ColumnLike, *, is_key: bool) -> None:
        inside = list(parts(column.type))
        if is_key and any(isinstance(part, MapType) for part in inside):
            raise FormatTypeError(
                "map-in-key",
                f"key column {column.name!r} has type {column.type}:"
                " maps have no fixed order, so equal keys could have different bytes",
                fix="use an array or a struct in the key",
            )
        if not self.supports_type(column.type):
            raise FormatTypeError(
                "format-type",
                f"format {self.name} does not support type {kind_of(column.type)}"
                f" of column {column.name!r}",
                fix="choose another format, such as JSON, or another type",
            )
        if self.name.startswith("PROTOBUF"):
            check_nesting(column.type, column.name)
        for part in inside:
            if isinstance(part, MapType) and part.key != STRING:
                raise FormatTypeError(
                    "format-map-key",
                    f"format {self.name} only supports MAP types with STRING keys,"
                    f" column {column.name!r} has {part}",
                    fix=f"use MAP<STRING, {part.value}>",
                )

    def _check_names(self, column: ColumnLike) -> None:
        names = [column.name]
        for part in parts(column.type):
            if isinstance(part, StructType):
                names.extend(field.name for field in part.fields)
        for name in names:
            if not _IDENTIFIER.fullmatch(name.replace(".", "_")):
                raise FormatError(
                    "format-name",
                    f"{name!r} is not a name that format {self.name} can hold",
                    fix="rename it to letters, digits and underscores, not starting with a digit",
                )


_SCHEMA = frozenset({"SCHEMA_FULL_NAME", "SCHEMA_ID"})
_NULLABLE = "PROTOBUF_NULLABLE_REPRESENTATION"

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("JSON", wraps=True, unwraps=True),
        Format("JSON_SR", infers=True, wraps=True, unwraps=True, properties=_SCHEMA),
        Format(
            "AVRO",
            infers=True,
            wraps=True,
            unwraps=True,
            needs_identifiers=True,
            properties=_SCHEMA,
        ),
        Format(
            "PROTOBUF",
            infers=True,
            wraps=True,
            needs_identifiers=True,
            properties=_SCHEMA | {_NULLABLE},
            inherited=frozenset({"SCHEMA_FULL_NAME"}),
        ),
        Format(
            "PROTOBUF_NOSR",
            wraps=True,
            unwraps=True,
            needs_identifiers=True,
            properties=frozenset({_NULLABLE}),
        ),
        Format(
            "DELIMITED",
            unwraps=True,
            properties=frozenset({"DELIMITER"}),
            inherited=frozenset({"DELIMITER"}),
        ),
        Format("KAFKA", unwraps=True, many_columns=False),
        Format("NONE", many_columns=False),
    )
}


def format_named(name: str) -> Format:
    """Find a format by its name, in any case.

    >>> format_named("avro").infers
    True

    Raises:
        FormatError: ``unknown-format``.
    """
    found = FORMATS.get(name.strip().upper())
    if found is None:
        raise FormatError(
            "unknown-format",
            f"there is no format {name!r}",
            fix=did_you_mean(name, FORMATS) or f"choose one of {', '.join(FORMATS)}",
        )
    return found
