"""Serdes of rows: the key or value columns of a SQL source as bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from penstock.formats.columns import ColumnLike
from penstock.formats.delimited import delimited_codec
from penstock.formats.delimited_columns import delimited_columns
from penstock.formats.errors import FormatError
from penstock.formats.formats import Format, format_named
from penstock.formats.json.json_codec import json_codec
from penstock.formats.json.json_columns import json_columns
from penstock.formats.kafka_codec import kafka_codec, void_codec
from penstock.formats.kafka_columns import kafka_columns
from penstock.formats.language import language_of, protobuf_codec
from penstock.formats.properties import FormatProperties
from penstock.formats.registered import registered_codec
from penstock.model.record import Headers
from penstock.model.sql.types import Field
from penstock.registry.registry import SchemaRegistry
from penstock.serde.base import Serde
from penstock.serde.column_serde import ColumnSerde, HasColumnSerde

Row = tuple[Any, ...]
_NO_PROPERTIES = FormatProperties()


class Codec(NamedTuple):
    """Two functions for one schema. ``encode`` may return None for a row of one NULL."""

    encode: Callable[[Row], bytes | None]
    decode: Callable[[bytes], Row | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFormat:
    """Everything that the bytes of a row depend on."""

    format: Format
    columns: tuple[Field, ...]
    is_key: bool
    topic: str
    properties: FormatProperties
    wrap: bool | None
    registry: SchemaRegistry | None = field(default=None, compare=False)
    #: Whether the query uses the values. If not, it is enough to check that they can be read.
    is_read: bool = field(default=True, compare=False)

    @property
    def is_unwrapped(self) -> bool:
        return self.format.is_unwrapped(self.columns, is_key=self.is_key, wrap=self.wrap)

    def required_registry(self) -> SchemaRegistry:
        if self.registry is None:
            raise FormatError(
                "no-schema-registry",
                f"format {self.format.name} of topic {self.topic!r} needs a schema registry",
                fix="set ksql.schema.registry.url",
            )
        return self.registry


@dataclass(frozen=True)
class RowSerde(Serde[Row], HasColumnSerde):
    """Rows as tuples with one SQL value per column; None is a record without bytes.

    ``encode`` and ``decode`` of an instance are the functions made for its columns, which
    saves a call per record.
    """

    row: RowFormat
    _columns: ColumnSerde | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        made = codec_of(self.row)
        vars(self).update(
            encode=made.encode, decode=made.decode, _columns=column_serde_of(self.row)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The functions are closures, which do not pickle. They are made again from the format.
        return type(self), (self.row,)

    @property
    def column_serde(self) -> ColumnSerde | None:
        """What is known of the format; ``None`` if its bytes also depend on a schema registry."""
        return self._columns

    @property
    def layout(self) -> str:
        columns = ", ".join(f"{column.name} {column.type}" for column in self.row.columns)
        return f"{self.row.format.name} ({columns})"

    def encode(self, value: Row) -> bytes:
        raise NotImplementedError  # pragma: no cover - every instance has its own

    def decode(self, data: bytes) -> Row:
        raise NotImplementedError  # pragma: no cover - every instance has its own


class NullableRowSerde(RowSerde):
    """A row serde that writes no bytes for a single NULL, or for a row without columns."""

    def serialize(self, topic: str, value: Row | None, headers: Headers = ()) -> bytes | None:
        return None if value is None else self.encode(value)


def serde_for(
    format: str | Format,  # noqa: A002 - the word of the language
    columns: Sequence[ColumnLike],
    *,
    is_key: bool,
    topic: str,
    properties: FormatProperties = _NO_PROPERTIES,
    registry: SchemaRegistry | None = None,
    wrap: bool | None = None,
    is_read: bool = True,
) -> RowSerde:
    """Return the serde of some columns on a topic.

    Raises:
        FormatError: when the format cannot hold the columns, see ``Format.validate``.
    """
    row = row_format(
        format,
        columns,
        is_key=is_key,
        topic=topic,
        properties=properties,
        registry=registry,
        wrap=wrap,
    )
    row = replace(row, is_read=is_read)
    plain = row.format.name == "DELIMITED" or not (row.is_unwrapped or not columns)
    return RowSerde(row) if plain else NullableRowSerde(row)


def row_format(
    format: str | Format,  # noqa: A002 - the word of the language
    columns: Sequence[ColumnLike],
    *,
    is_key: bool,
    topic: str,
    properties: FormatProperties = _NO_PROPERTIES,
    registry: SchemaRegistry | None = None,
    wrap: bool | None = None,
) -> RowFormat:
    """Return the checked format that ``serde_for`` makes its serde from."""
    chosen = format_named(format) if isinstance(format, str) else format
    chosen.validate(columns, is_key=is_key, properties=properties, wrap=wrap)
    return RowFormat(
        format=chosen,
        columns=tuple(Field(column.name, column.type) for column in columns),
        is_key=is_key,
        topic=topic,
        properties=properties,
        wrap=wrap,
        registry=registry,
    )


def codec_of(row: RowFormat) -> Codec:
    """Make the two functions of a row's format."""
    match row.format.name:
        case "JSON":
            return Codec(*json_codec(row.columns, is_unwrapped=row.is_unwrapped))
        case "DELIMITED":
            return Codec(*delimited_codec(row.columns, row.properties.delimiter or ","))
        case "JSON_SR" | "AVRO" | "PROTOBUF" if row.columns:
            return Codec(*registered_codec(language_of(row.format.name), row))
        case "PROTOBUF_NOSR" if row.columns:
            return Codec(*protobuf_codec(row))
        case "KAFKA" if row.columns:
            return Codec(*kafka_codec(row.columns[0].type))
        case _:
            # Without columns there are no bytes, in format NONE and in all others.
            return Codec(*void_codec())


def column_serde_of(row: RowFormat) -> ColumnSerde | None:
    """Make what a row's format can do with whole columns; ``None`` if the row does not decide all.

    The schema ids in the bytes of some formats come from a registry.
    """
    match row.format.name:
        case "JSON" if row.columns:
            return json_columns(row.columns, is_unwrapped=row.is_unwrapped, is_read=row.is_read)
        case "DELIMITED" if row.columns:
            return delimited_columns(row.columns, row.properties.delimiter or ",")
        case "KAFKA" if row.columns:
            return kafka_columns(row.columns[0].type)
        case "JSON" | "DELIMITED" | "KAFKA" | "NONE":
            return ColumnSerde()
        case _:
            return None
