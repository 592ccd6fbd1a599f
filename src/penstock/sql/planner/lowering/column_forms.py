"""The column forms of lowered steps: each does to a batch what a function does to one record.

A form returns None if a batch contains something that only the function can process, such as a
record without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.model.columns.row_columns import Items, Places, RowColumns

#: From the columns of keys and values to the positions of the records that stay (None for all of
#: them) and their rows.
ColumnForm = Callable[[Any, Any], tuple[Places | None, RowColumns] | None]
#: From rows to as many new rows.
RowsForm = Callable[[RowColumns], RowColumns]


class BatchColumn(Protocol):
    """A column of a batch."""

    def values(self) -> Sequence[Any]: ...


def rows_in(values: BatchColumn) -> RowColumns | None:
    """Return the rows of a batch; None if a record has no row."""
    found = values.values()
    return found if isinstance(found, RowColumns) else None


def only_rows(form: RowsForm) -> Callable[[Any], RowColumns | None]:
    """Return the column form of a function that needs only rows, not keys."""

    def over_columns(values: BatchColumn) -> RowColumns | None:
        rows = rows_in(values)
        return None if rows is None else form(rows)

    return over_columns


def projection(columns: Sequence[Callable[[RowColumns], Items]]) -> RowsForm:
    """Return the column form of several expressions; each is evaluated at its first use."""

    def project(rows: RowColumns) -> RowColumns:
        return RowColumns([lambda each=each: each(rows) for each in columns], len(rows))  # type: ignore[misc]

    return project


def with_key(values: RowColumns, keys: BatchColumn, width: int, between: int) -> RowColumns:
    """Return the rows with ``between`` NULL columns and then the columns of their keys."""
    count = len(values)

    def column(place: int) -> Items:
        found = keys.values()
        if isinstance(found, RowColumns):
            return found.column(place)
        return [None if key is None else key[place] for key in found]

    nulls = [lambda: [None] * count] * between
    key = [lambda place=place: column(place) for place in range(width)]
    return RowColumns([*values.lazily(), *nulls, *key], count)


def is_known(column: Items) -> Any:
    """Return a mask of the items that are not NULL; None if no item is NULL."""
    if None not in column:
        return None
    return np.fromiter((item is not None for item in column), bool, len(column))
