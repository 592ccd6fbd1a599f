"""How rows are kept inside a query: in stores, changelogs and repartition topics.

Only values are stored: the plan has the types. The form is JSON and not pickle, so that reading it
never runs code.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import itemgetter
from typing import Any

import numpy as np
import orjson

from penstock.formats.columns import parts
from penstock.formats.row_column_serde import rows_of
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.columns.row_columns import RowColumns
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
    MapType,
    SqlType,
    StructType,
)
from penstock.serde.base import Serde
from penstock.serde.column_serde import ColumnSerde, Encoded, HasColumnSerde
from penstock.serde.json_column import dumped

Convert = Callable[[Any], Any]
_EXACT = frozenset({BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP})
_NUMBERS = frozenset({BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TIME, TIMESTAMP})
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


@dataclass(frozen=True)
class InternalRowSerde(Serde[tuple[Any, ...]], HasColumnSerde):
    """Tuples of SQL values, one for each type."""

    types: tuple[SqlType, ...]
    _columns: ColumnSerde = field(init=False, repr=False, compare=False)

    @property
    def column_serde(self) -> ColumnSerde:
        return self._columns

    @property
    def layout(self) -> str:
        return f"rows of {', '.join(str(type_) for type_ in self.types)}"

    def _decode_column(self, data: Encoded) -> RowColumns | None:
        """Return rows as columns; of a column with repeated bytes, each is decoded once."""
        if isinstance(data, DictionaryBytes):
            different = None if None in data else self._decode_column(data.different)
            return None if different is None else different.coded(data.codes)
        # The query wrote these bytes itself, so all can be parsed at once.
        lists = orjson.loads(b"[" + b",".join(data) + b"]")  # type: ignore[arg-type]
        if len(lists) != len(data) or set(map(len, lists)) - {len(self.types)}:
            return None
        read = [
            _each_item([*map(itemgetter(n), lists)], _reader(type_))
            for n, type_ in enumerate(self.types)
        ]
        return RowColumns(read, len(lists))

    def _encode_column(self, values: Sequence[Any]) -> Encoded | None:
        if not self.types:
            return None if None in values else DictionaryBytes(np.zeros(len(values), int), [b"[]"])
        if None in values:
            return None
        if _NUMBERS.issuperset(self.types):
            return _encoded_numbers(values)
        rows = rows_of(values, len(self.types))
        columns = zip(rows.columns(), self.types, strict=True)
        written = [_each_item(column, _writer(type_)) for column, type_ in columns]
        return dumped([*zip(*written, strict=True)])

    def __post_init__(self) -> None:
        columns = ColumnSerde(
            wire=("INTERNAL", self.types),
            decode=self._decode_column,
            encode=self._encode_column,
            keeps_values=_keeps_values(self.types),
            reads_dictionaries=True,
        )
        vars(self).update(
            encode=_encoder(self.types), decode=_decoder(self.types), _columns=columns
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.types,)

    def encode(self, value: tuple[Any, ...]) -> bytes:
        raise NotImplementedError  # pragma: no cover - every instance has its own

    def decode(self, data: bytes) -> tuple[Any, ...]:
        raise NotImplementedError  # pragma: no cover - every instance has its own


def _keeps_values(types: Sequence[SqlType]) -> bool:
    """Return whether rows are unchanged, with the same Python types, after writing and reading."""
    return all(
        part in _EXACT or isinstance(part, DecimalType | StructType)
        for type_ in types
        for part in parts(type_)
    )


def _encoded_numbers(values: Sequence[Any]) -> Encoded | None:
    """Return the bytes of rows that contain only numbers."""
    data = orjson.dumps([*values])
    if not len(values) or b"null" in data:
        # It may stand for NaN or infinity, which are written as text.
        return None
    return data[1:-1].replace(b"],[", b"]\n[").split(b"\n")


def _each_item(column: Sequence[Any], convert: Convert | None) -> Sequence[Any]:
    if convert is None:
        return column
    return [None if item is None else convert(item) for item in column]


def _encoder(types: Sequence[SqlType]) -> Callable[[tuple[Any, ...]], bytes]:
    writers = [(i, w) for i, type_ in enumerate(types) if (w := _writer(type_)) is not None]
    dumps = orjson.dumps

    def encode(row: tuple[Any, ...]) -> bytes:
        if writers:
            values = list(row)
            for i, write in writers:
                if values[i] is not None:
                    values[i] = write(values[i])
            row = tuple(values)
        # A copy: orjson's own keeps the room in which it was begun, as ``json_column`` says.
        return b"%b" % dumps(row)

    return encode


def _decoder(types: Sequence[SqlType]) -> Callable[[bytes], tuple[Any, ...]]:
    readers = [(i, r) for i, type_ in enumerate(types) if (r := _reader(type_)) is not None]
    loads = orjson.loads

    def decode(data: bytes) -> tuple[Any, ...]:
        values = loads(data)
        for i, read in readers:
            if values[i] is not None:
                values[i] = read(values[i])
        return tuple(values)

    return decode


def _writer(type_: SqlType) -> Convert | None:
    """Return the conversion to a JSON value; None if none is needed."""
    match type_:
        case DecimalType():
            return str
        case ArrayType(element):
            return _each(_writer(element))
        case MapType(key, value):
            return _pairs(_writer(key), _writer(value))
        case StructType(fields):
            return _fields([(f.name, _writer(f.type)) for f in fields])
        case _ if type_ == BYTES:
            return lambda data: base64.b64encode(data).decode()
        case _ if type_ == DOUBLE:
            return _write_double
        case _:
            return None


def _reader(type_: SqlType) -> Convert | None:
    match type_:
        case DecimalType():
            return Decimal
        case ArrayType(element):
            return _each(_reader(element))
        case MapType(key, value):
            return _unpaired(_reader(key), _reader(value))
        case StructType(fields):
            return _fields([(f.name, _reader(f.type)) for f in fields])
        case _ if type_ == BYTES:
            return base64.b64decode
        case _ if type_ == DOUBLE:
            return lambda number: _NOT_FINITE[number] if isinstance(number, str) else number
        case _:
            return None


def _write_double(number: float) -> float | str:
    # JSON has no NaN and no infinity.
    if number - number == 0:
        return number
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def _each(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda items: [None if item is None else convert(item) for item in items]


def _maybe(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _pairs(key: Convert | None, value: Convert | None) -> Convert:
    # Keys need not be strings, so a map is a list of pairs.
    on_key, on_value = _maybe(key), _maybe(value)
    return lambda items: [[on_key(k), on_value(v)] for k, v in items.items()]


def _unpaired(key: Convert | None, value: Convert | None) -> Convert:
    on_key, on_value = _maybe(key), _maybe(value)
    return lambda pairs: {on_key(k): on_value(v) for k, v in pairs}


def _fields(converts: list[tuple[str, Convert | None]]) -> Convert | None:
    used = [(name, convert) for name, convert in converts if convert is not None]
    if not used:
        return None

    def convert_all(struct: dict[str, Any]) -> dict[str, Any]:
        changed = dict(struct)
        for name, convert in used:
            if changed.get(name) is not None:
                changed[name] = convert(changed[name])
        return changed

    return convert_all


def row_serde(types: Sequence[SqlType]) -> InternalRowSerde:
    return InternalRowSerde(tuple(types))
