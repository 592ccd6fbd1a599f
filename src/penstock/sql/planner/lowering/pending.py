"""Rows that are not computed yet: steps over single rows are combined into one operator.

A plan has a step for each clause. An operator for each of them would cost more than the clauses
themselves, so functions are composed until an operator needs the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.options.materialized import Materialized
from penstock.model.column_function import ColumnFunction
from penstock.model.columns.row_columns import Places, RowColumns
from penstock.sql.planner.lowering.column_forms import ColumnForm, RowsForm
from penstock.sql.planner.lowering.context import Row, RowFunction

#: The row of a record, or an empty tuple if a filter dropped it.
Found = tuple[Row | None, ...]


@dataclass(frozen=True, slots=True)
class PendingRows:
    """A stream, and the functions to apply to each of its records.

    ``make`` returns the row of a record, or None if the record has no value. If ``rows`` is given,
    it is used instead, and may drop the record. ``columns`` does the same for a whole batch.
    """

    stream: KStream[Any, Any]
    make: Callable[[Any, Any], Row | None]
    columns: ColumnForm
    rows: Callable[[Any, Any], Found] | None = None

    def filtered(self, holds: RowFunction[bool]) -> PendingRows:
        make, before, evaluate = self.make, self.rows, holds.one

        def rows_of(key: Any, value: Any) -> Found:
            row = make(key, value)
            return (row,) if row is not None and evaluate(row) else ()

        def rows_of_rows(key: Any, value: Any) -> Found:
            rows = before(key, value)  # type: ignore[misc]
            return rows if rows and rows[0] is not None and evaluate(rows[0]) else ()

        return PendingRows(
            self.stream,
            make,
            _filtered(self.columns, holds.over_rows),
            rows_of if before is None else rows_of_rows,
        )

    def projected(self, values: RowFunction[Row]) -> PendingRows:
        make, before, evaluate = self.make, self.rows, values.one

        def row_of(key: Any, value: Any) -> Row | None:
            row = make(key, value)
            return None if row is None else evaluate(row)

        def rows_of(key: Any, value: Any) -> Found:
            rows = before(key, value)  # type: ignore[misc]
            return (evaluate(rows[0]),) if rows and rows[0] is not None else rows

        columns = _projected(self.columns, values.over_rows)
        return PendingRows(self.stream, row_of, columns, None if before is None else rows_of)

    def all_rows(self) -> Callable[[Any, Any], Found]:
        make = self.make
        return self.rows or (lambda key, value: (make(key, value),))

    def now(self) -> KStream[Any, Any]:
        """Add one operator that computes the rows, and return its stream."""
        if self.rows is not None:
            return self.stream.flat_map_values(ColumnFunction(self.rows, over_columns=self.columns))
        return self.stream.map_values(ColumnFunction(self.make, over_columns=_all_of(self.columns)))


def _filtered(before: ColumnForm, mask_of: Callable[[RowColumns], Any]) -> ColumnForm:
    def over_columns(keys: Any, values: Any) -> tuple[Places | None, RowColumns] | None:
        found = before(keys, values)
        if found is None:
            return None
        places, rows = found
        chosen = np.flatnonzero(mask_of(rows))
        return chosen if places is None else places[chosen], rows.take(chosen)

    return over_columns


def _projected(before: ColumnForm, project: RowsForm) -> ColumnForm:
    def over_columns(keys: Any, values: Any) -> tuple[Places | None, RowColumns] | None:
        found = before(keys, values)
        return None if found is None else (found[0], project(found[1]))

    return over_columns


def _all_of(form: ColumnForm) -> Callable[[Any, Any], RowColumns | None]:
    """Return the column form of rows none of which was dropped."""

    def over_columns(keys: Any, values: Any) -> RowColumns | None:
        found = form(keys, values)
        return None if found is None else found[1]

    return over_columns


@dataclass(frozen=True, slots=True)
class PendingTable:
    """A table of states, and the function from a state to its row."""

    table: KTable[Any, Any]
    make: Callable[[Any, Any], Row]
    columns: Callable[[Any, Any], RowColumns | None]

    def projected(self, values: RowFunction[Row]) -> PendingTable:
        make, evaluate = self.make, values.one
        before, project = self.columns, values.over_rows

        def over_columns(keys: Any, states: Any) -> RowColumns | None:
            rows = before(keys, states)
            return None if rows is None else project(rows)

        return PendingTable(
            self.table, lambda key, states: evaluate(make(key, states)), over_columns
        )

    def now(self) -> KTable[Any, Any]:
        return self.table.map_values(ColumnFunction(self.make, over_columns=self.columns))


@dataclass(frozen=True, slots=True)
class PendingUpserts:
    """A table as a stream of its new rows, and the function to apply to each of them.

    A row that a filter does not let through is a tombstone. Only what needs the table itself makes
    a store with its rows, called after ``name``.
    """

    stream: KStream[Any, Any]
    make: Callable[[Any, Any], Row | None]
    name: str
    serdes: Mapping[str, Any]

    def filtered(self, holds: RowFunction[bool]) -> PendingUpserts:
        make, evaluate = self.make, holds.one

        def row_of(key: Any, value: Any) -> Row | None:
            row = make(key, value)
            return row if row is not None and evaluate(row) else None

        return replace(self, make=row_of)

    def projected(self, values: RowFunction[Row]) -> PendingUpserts:
        return self.mapped(lambda key, row: values.one(row))

    def mapped(self, function: Callable[[Any, Row], Row]) -> PendingUpserts:
        make = self.make

        def row_of(key: Any, value: Any) -> Row | None:
            row = make(key, value)
            return None if row is None else function(key, row)

        return replace(self, make=row_of)

    def written(self) -> KStream[Any, Any]:
        """Return the stream of the rows, for a topic that keeps the last one of each key."""
        return self.stream.map_values(ColumnFunction(self.make))

    def now(self) -> KTable[Any, Any]:
        """Return the table, whose rows are in a store."""
        store: Any = Materialized(name=f"{self.name}-Materialize", **self.serdes)
        table = self.stream.to_table(store)
        make = self.make
        rows = table.filter(ColumnFunction(lambda key, row: make(key, row) is not None))
        return rows.map_values(ColumnFunction(make))


Lowered = KStream[Any, Any] | KTable[Any, Any] | PendingRows | PendingTable | PendingUpserts


def made(rows: Any) -> Any:
    """Return the stream or table of rows, after adding a pending operator."""
    return rows.now() if isinstance(rows, PendingRows | PendingTable | PendingUpserts) else rows


def written(rows: Any) -> Any:
    """Return what is written to the topic of the result."""
    return rows.written() if isinstance(rows, PendingUpserts) else made(rows)
