"""Rows that are not made yet: steps over single rows are put together into one operator.

A plan has a step for each clause. An operator for each of them would cost more than the clauses
themselves, so functions are composed until an operator needs the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.dsl.kstream import KStream
from penstock.dsl.ktable import KTable
from penstock.model.pure import pure
from penstock.sql.planner.lowering.context import Row

#: Of a record's key and value, the rows to go on with: one, or none where a filter dropped it.
Rows = tuple[Row | None, ...]


@dataclass(frozen=True, slots=True)
class PendingRows:
    """A stream and what is to be done with each of its records.

    ``make`` gives the row of a record, None for one without a value; where ``rows`` is given, it
    decides instead and may drop the record.
    """

    stream: KStream[Any, Any]
    make: Callable[[Any, Any], Row | None]
    rows: Callable[[Any, Any], Rows] | None = None

    def filtered(self, holds: Callable[[Row], bool]) -> PendingRows:
        make, before = self.make, self.rows

        def rows_of(key: Any, value: Any) -> Rows:
            row = make(key, value)
            return (row,) if row is not None and holds(row) else ()

        def rows_of_rows(key: Any, value: Any) -> Rows:
            rows = before(key, value)  # type: ignore[misc]
            return rows if rows and rows[0] is not None and holds(rows[0]) else ()

        return PendingRows(self.stream, make, rows_of if before is None else rows_of_rows)

    def projected(self, values: Callable[[Row], Row]) -> PendingRows:
        make, before = self.make, self.rows

        def row_of(key: Any, value: Any) -> Row | None:
            row = make(key, value)
            return None if row is None else values(row)

        def rows_of(key: Any, value: Any) -> Rows:
            rows = before(key, value)  # type: ignore[misc]
            return (values(rows[0]),) if rows and rows[0] is not None else rows

        return PendingRows(self.stream, row_of, None if before is None else rows_of)

    def all_rows(self) -> Callable[[Any, Any], Rows]:
        make = self.make
        return self.rows or (lambda key, value: (make(key, value),))

    def now(self) -> KStream[Any, Any]:
        """Gives the stream of rows, by one operator."""
        if self.rows is not None:
            return self.stream.flat_map_values(pure(self.rows))
        return self.stream.map_values(pure(self.make))


@dataclass(frozen=True, slots=True)
class PendingTable:
    """A table of states, and the row that each of them is."""

    table: KTable[Any, Any]
    make: Callable[[Any, Any], Row]

    def projected(self, values: Callable[[Row], Row]) -> PendingTable:
        make = self.make
        return PendingTable(self.table, lambda key, states: values(make(key, states)))

    def now(self) -> KTable[Any, Any]:
        return self.table.map_values(pure(self.make))


Lowered = KStream[Any, Any] | KTable[Any, Any] | PendingRows | PendingTable


def made(rows: Any) -> Any:
    """Gives the stream or table of rows, whatever is pending."""
    return rows.now() if isinstance(rows, PendingRows | PendingTable) else rows
