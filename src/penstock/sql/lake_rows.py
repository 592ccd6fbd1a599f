"""Rows of queries for tables of a lakehouse: ``WITH (SINK='delta:/lake/orders')``.

They travel as JSON, which Spark reads with the types of ``spark_types``.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.formats.columns import ColumnLike
from penstock.model.sql.types import (
    BYTES,
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.model.time.calendar import from_days, from_ms
from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde
from penstock.serde.tabular import TabularSerde
from penstock.sql.spark_types import spark_type

Convert = Callable[[Any], Any]
_JSON = TabularSerde()


@dataclass(frozen=True, slots=True)
class LakeRowSerde(Serde[Any]):
    """Writes rows, which are tuples, as JSON: their only value, or an object with all of them."""

    columns: tuple[Field, ...]
    is_single: bool

    @staticmethod
    def of_key(columns: Iterable[ColumnLike]) -> LakeRowSerde:
        fields = _fields(columns)
        return LakeRowSerde(fields, len(fields) == 1)

    @staticmethod
    def of_value(columns: Iterable[ColumnLike]) -> LakeRowSerde:
        return LakeRowSerde(_fields(columns), is_single=False)

    @property
    def spark_type(self) -> str | None:
        """The type of what is written; None for a key without columns, which is null."""
        if not self.columns:
            return None
        return spark_type(self.columns[0].type if self.is_single else StructType(self.columns))

    def encode(self, value: Any) -> bytes:
        if isinstance(value, Windowed):
            value = Windowed(self._plain(value.key), value.window)
        else:
            value = self._plain(value)
        return _JSON.encode(value)

    def decode(self, data: bytes) -> Any:
        """Return what JSON has, as tests read it: no task reads such rows."""
        return _JSON.decode(data)

    def _plain(self, row: Sequence[Any] | None) -> Any:
        if row is None:
            return None
        pairs = zip(self.columns, row, strict=True)
        plain = {column.name: _json_value(value, column.type) for column, value in pairs}
        return next(iter(plain.values())) if self.is_single else plain


def _fields(columns: Iterable[ColumnLike]) -> tuple[Field, ...]:
    return tuple(Field(column.name, column.type) for column in columns)


def _json_value(value: Any, type_: SqlType) -> Any:
    if value is None:
        return None
    match type_:
        case ArrayType(element):
            return [_json_value(each, element) for each in value]
        case MapType(_, inner):
            # Spark has no map with a null key.
            return {key: _json_value(it, inner) for key, it in value.items() if key is not None}
        case StructType(fields):
            return {each.name: _json_value(value.get(each.name), each.type) for each in fields}
        case DecimalType():
            return str(value)
        case _:
            write = _WRITERS.get(type_)
            return value if write is None else write(value)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"


def _moment(milliseconds: int) -> str | None:
    try:
        return from_ms(milliseconds).isoformat(timespec="milliseconds")
    except OverflowError:
        return None


def _day(days: int) -> str | None:
    try:
        return from_days(days).isoformat()
    except (ValueError, OverflowError):
        return None


def _time_of_day(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


_WRITERS: dict[SqlType, Convert] = {
    BYTES: lambda value: base64.b64encode(value).decode(),
    DATE: _day,
    DOUBLE: _number,
    TIME: _time_of_day,
    TIMESTAMP: _moment,
}
