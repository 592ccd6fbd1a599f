"""Columns and rows of a query. Values are Python's: dates, times, decimals and bytes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, overload

from penstock.client.column_types import column_type, has_decimals
from penstock.model.sql.types import (
    BYTES,
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a query: its name and its SQL type."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


class Columns(Sequence[Column]):
    """The columns of a query, and how their JSON values become Python's."""

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = tuple(columns)
        self.names = tuple(column.name for column in self._columns)
        self._index = {name: i for i, name in reversed(list(enumerate(self.names)))}
        found = [converter(column.type) for column in self._columns]
        self._converters = [(i, c) for i, c in enumerate(found) if c is not None]
        self.has_decimals = any(has_decimals(column.type) for column in self._columns)

    @staticmethod
    def of(names: Sequence[str], types: Sequence[str]) -> Columns:
        """Return the columns that the first line of an answer describes."""
        return Columns(Column(n, column_type(t)) for n, t in zip(names, types, strict=True))

    def row(self, values: list[Any], *, is_deleted: bool = False) -> Row:
        """Return a row from the values of a JSON array."""
        for i, convert in self._converters:
            if values[i] is not None:
                values[i] = convert(values[i])
        return Row(self, values, is_deleted=is_deleted)

    def index(self, name: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the place of a column by its name; a name without quotes may have any case."""
        found = self._index.get(name)
        if found is None and isinstance(name, str):
            found = self._index.get(name.upper())
        if found is None:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self.names)}")
        return found

    @overload
    def __getitem__(self, at: int) -> Column: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Column]: ...
    def __getitem__(self, at: int | slice) -> Column | Sequence[Column]:
        return self._columns[at]

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and self._columns == other._columns

    def __hash__(self) -> int:
        return hash(self._columns)

    def __reduce__(self) -> tuple[Any, ...]:
        # The converters are closures, which do not pickle. They are made again from the types.
        return Columns, (self._columns,)

    def __repr__(self) -> str:
        return f"Columns({', '.join(map(str, self._columns))})"


class Row(tuple[Any, ...]):
    """The values of one row, by position and by name.

    >>> row = Columns.of(["USR", "N"], ["STRING", "BIGINT"]).row(["ann", 2])
    >>> row["usr"], row[1], row.as_dict()
    ('ann', 2, {'USR': 'ann', 'N': 2})
    """

    columns: Columns
    #: Whether a table has lost this row; then all columns but those of the key are None.
    is_deleted: bool

    def __new__(cls, columns: Columns, values: Iterable[Any], *, is_deleted: bool = False) -> Row:
        """Make a row; it shares its columns with the other rows of the query."""
        row = super().__new__(cls, values)
        row.columns = columns
        row.is_deleted = is_deleted
        return row

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.columns.index(key) if isinstance(key, str) else key)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a column, or the default if there is no such column."""
        try:
            return self[name]
        except KeyError:
            return default

    def as_dict(self) -> dict[str, Any]:
        """Return the values by the names of their columns."""
        return dict(zip(self.columns.names, self, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return _row, (self.columns, tuple(self), self.is_deleted)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{n}={v!r}' for n, v in self.as_dict().items())})"


def _row(columns: Columns, values: tuple[Any, ...], is_deleted: bool) -> Row:
    """Make a row again that was pickled."""
    return Row(columns, values, is_deleted=is_deleted)


def converter(type_: SqlType) -> Convert | None:
    """Return the function from JSON values of a type to Python's; None if they are the same.

    It is not called with None.
    """
    match type_:
        case DecimalType():
            return _decimal
        case ArrayType(element):
            item = _nullable(converter(element))
            return item and (lambda values: [item(value) for value in values])
        case MapType(_, value_type):
            inner = _nullable(converter(value_type))
            return inner and (lambda values: {key: inner(value) for key, value in values.items()})
        case StructType(fields):
            return _struct([(each.name, _nullable(converter(each.type))) for each in fields])
        case _:
            return _SCALARS.get(type_)


def _nullable(convert: Convert | None) -> Convert | None:
    return convert and (lambda value: None if value is None else convert(value))


def _struct(fields: list[tuple[str, Convert | None]]) -> Convert | None:
    changed = [(name, convert) for name, convert in fields if convert is not None]
    if not changed:
        return None
    return lambda value: value | {n: convert(value.get(n)) for n, convert in changed}


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _timestamp(value: Any) -> Any:
    # A year that Python has no date for stays as the server wrote it.
    try:
        moment = datetime.fromisoformat(value)
    except (ValueError, TypeError):
        return value
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _date(value: Any) -> Any:
    try:
        return date.fromisoformat(value)
    except (ValueError, TypeError):
        return value


def _time(value: Any) -> Any:
    try:
        return time.fromisoformat(value)
    except (ValueError, TypeError):
        return value


_SCALARS: dict[SqlType, Convert] = {
    BYTES: b64decode,
    DATE: _date,
    # A number that JSON writes without a point is still a DOUBLE; NaN and infinity are texts.
    DOUBLE: float,
    TIME: _time,
    TIMESTAMP: _timestamp,
}
