"""What lowered steps do to whole columns; each stands beside a function that takes one record.

A form gives None where a batch has something that only the function knows how to treat, such as
a record without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.model.columns.row_columns import Items, Places, RowColumns

#: Of the columns of keys and values, the places of the records that stay, None for all of them,
#: and their rows.
ColumnForm = Callable[[Any, Any], tuple[Places | None, RowColumns] | None]
#: From rows to rows, one for each.
RowsForm = Callable[[RowColumns], RowColumns]


class BatchColumn(Protocol):
    """A column of a batch."""

    def values(self) -> Sequence[Any]: ...


def rows_in(values: BatchColumn) -> RowColumns | None:
    """The rows of a batch, if all of its records have one."""
    found = values.values()
    return found if isinstance(found, RowColumns) else None


def only_rows(form: RowsForm) -> Callable[[Any], RowColumns | None]:
    """Return the form of a function that takes rows alone."""

    def over_columns(values: BatchColumn) -> RowColumns | None:
        rows = rows_in(values)
        return None if rows is None else form(rows)

    return over_columns


def projection(columns: Sequence[Callable[[RowColumns], Items]]) -> RowsForm:
    """Return the form of several expressions; each is evaluated once somebody asks for it."""

    def project(rows: RowColumns) -> RowColumns:
        return RowColumns([lambda each=each: each(rows) for each in columns], len(rows))  # type: ignore[misc]

    return project


def with_key(values: RowColumns, keys: BatchColumn, width: int, between: int) -> RowColumns:
    """RowColumns with so many NULLs and the columns of their keys behind them."""
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
    """A mask of the items that are not NULL; None if all are not."""
    if None not in column:
        return None
    return np.fromiter((item is not None for item in column), bool, len(column))
