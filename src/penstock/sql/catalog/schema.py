"""The shape of rows: columns in key, value and headers, and the columns that every row has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.model.sql.types import (
    BIGINT,
    BYTES,
    INTEGER,
    STRING,
    ArrayType,
    Field,
    SqlType,
    StructType,
)
from penstock.sql.syntax.format_expression import identifier

Namespace = Literal["KEY", "VALUE", "HEADERS"]

ROWTIME = "ROWTIME"
ROWPARTITION = "ROWPARTITION"
ROWOFFSET = "ROWOFFSET"
WINDOWSTART = "WINDOWSTART"
WINDOWEND = "WINDOWEND"
PSEUDO_COLUMNS: tuple[tuple[str, SqlType], ...] = (
    (ROWTIME, BIGINT),
    (ROWPARTITION, INTEGER),
    (ROWOFFSET, BIGINT),
)
WINDOW_COLUMNS: tuple[tuple[str, SqlType], ...] = ((WINDOWSTART, BIGINT), (WINDOWEND, BIGINT))
SYSTEM_COLUMNS = frozenset(name for name, _ in (*PSEUDO_COLUMNS, *WINDOW_COLUMNS))

HEADERS_TYPE = ArrayType(StructType((Field("KEY", STRING), Field("VALUE", BYTES))))


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a stream or table; ``header`` names the header of ``HEADER('name')``."""

    name: str
    type: SqlType
    namespace: Namespace = "VALUE"
    header: str | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream or table in the order they were declared."""

    columns: tuple[SourceColumn, ...]

    @property
    def key(self) -> tuple[SourceColumn, ...]:
        return tuple(column for column in self.columns if column.namespace == "KEY")

    @property
    def value(self) -> tuple[SourceColumn, ...]:
        return tuple(column for column in self.columns if column.namespace == "VALUE")

    @property
    def headers(self) -> tuple[SourceColumn, ...]:
        return tuple(column for column in self.columns if column.namespace == "HEADERS")

    def find(self, name: str) -> SourceColumn | None:
        return next((column for column in self.columns if column.name == name), None)

    def describe(self, *, is_table: bool = False) -> str:
        """Return the columns as CREATE writes them, key columns first."""
        ordered = (*self.key, *(c for c in self.columns if c.namespace != "KEY"))
        return ", ".join(_described(column, is_table) for column in ordered)


def _described(column: SourceColumn, is_table: bool) -> str:
    text = f"{identifier(column.name)} {column.type}"
    if column.namespace == "KEY":
        return f"{text} {'PRIMARY KEY' if is_table else 'KEY'}"
    if column.namespace == "HEADERS":
        return f"{text} HEADERS" if column.header is None else f"{text} HEADER('{column.header}')"
    return text
