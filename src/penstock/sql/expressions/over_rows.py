"""Expressions over columns of rows: with Arrow's kernels if they are exact, else row by row.

The kernels are ``columns``. Row by row means with the functions of ``compiler``, which are the
reference. They also evaluate a batch again if one bad value fails it in the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.model.columns.dictionary_column import DictionaryColumn
from penstock.model.columns.row_columns import Items, RowColumns
from penstock.model.sql.errors import SqlError
from penstock.model.sql.types import BIGINT, DOUBLE, INTEGER, STRING, SqlType
from penstock.model.user_code import UserCodeError
from penstock.sql.arrow import to_array, to_values
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.node import Node
from penstock.sql.ast.walk import walk
from penstock.sql.expressions.columns import ColumnExpression, compile_columns
from penstock.sql.expressions.compiler import compile_condition, compile_expression
from penstock.sql.expressions.scope import Scope

T = TypeVar("T")

#: Errors that Arrow, conversions and users' functions raise for a bad value. Any other error is a
#: bug of the kernels.
_BAD_VALUES = (pa.ArrowException, ArithmeticError, SqlError, UserCodeError)

OverRows = Callable[[RowColumns], Items]
Mask = NDArray[np.bool_]


def values_over_rows(node: Expression, scope: Scope) -> OverRows:
    """Return the function that evaluates the expression for each of many rows."""
    if isinstance(node, ColumnRef):
        place = scope.find(node)[0]
        return lambda rows: rows.column(place)
    evaluate, used = compile_expression(node, scope).evaluate, places_used(node, scope)
    found = compile_columns(node, scope)

    def by_row(rows: RowColumns) -> Items:
        return [evaluate(row) for row in narrowed(rows, used)]

    if found is None:
        return by_row
    return _first_or_second(
        lambda rows: column_of_array(_run(found, rows, scope), found.type), by_row
    )


@dataclass(frozen=True, slots=True)
class ArrayOverRows:
    """An expression whose values stay an Arrow array."""

    type: SqlType
    evaluate: Callable[[RowColumns], Any]


def array_over_rows(node: Expression, scope: Scope) -> ArrayOverRows | None:
    """Return the expression over Arrow arrays; None if Arrow cannot compute it."""
    found = None if isinstance(node, ColumnRef) else compile_columns(node, scope)
    if found is None:
        return None
    evaluate, used = compile_expression(node, scope).evaluate, places_used(node, scope)
    return ArrayOverRows(
        found.type,
        _first_or_second(
            lambda rows: _run(found, rows, scope),
            lambda rows: to_array([evaluate(row) for row in narrowed(rows, used)], found.type),
        ),
    )


def mask_over_rows(node: Expression, scope: Scope) -> Callable[[RowColumns], Mask]:
    """Return the function that evaluates a condition for each of many rows; NULL is not true."""
    holds, used = compile_condition(node, scope).evaluate, places_used(node, scope)
    found = compile_columns(node, scope)

    def by_row(rows: RowColumns) -> Mask:
        return np.fromiter(map(holds, narrowed(rows, used)), bool, len(rows))

    if found is None:
        return by_row

    def mask(rows: RowColumns) -> Mask:
        truths: Mask = _run(found, rows, scope).fill_null(False).to_numpy(zero_copy_only=False)
        return truths

    return _first_or_second(mask, by_row)


def _first_or_second(
    first: Callable[[RowColumns], T], second: Callable[[RowColumns], T]
) -> Callable[[RowColumns], T]:
    def evaluate(rows: RowColumns) -> T:
        try:
            return first(rows)
        # One bad value fails a whole batch. Row by row, only its own result is NULL, and is logged.
        except _BAD_VALUES:
            return second(rows)

    return evaluate


def places_used(node: Node, scope: Scope) -> frozenset[int]:
    """Return the positions in a row of the columns that an expression uses."""
    places = set()
    for each in walk(node):
        if isinstance(each, ColumnRef):
            try:
                places.add(scope.find(each)[0])
            except SqlError:
                # The parameter of a lambda is not a column.
                continue
    return frozenset(places)


def narrowed(rows: RowColumns, used: frozenset[int]) -> Iterable[Any]:
    """Return the rows as tuples, with None in the columns that are not used."""
    if not used:
        return repeat((None,) * rows.width, len(rows))
    columns = (rows.column(n) if n in used else repeat(None) for n in range(rows.width))
    return zip(*columns)  # noqa: B905 - what repeats has no end


def _run(expression: ColumnExpression, rows: RowColumns, scope: Scope) -> Any:
    types = [column.type for column in scope.columns]
    found = expression.evaluate(_Arrays(rows, types), len(rows))
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


class _Arrays(Sequence[Any]):
    """The columns of rows as Arrow arrays; each is converted at its first use."""

    def __init__(self, rows: RowColumns, types: Sequence[SqlType]) -> None:
        self._rows = rows
        self._types = types

    def __len__(self) -> int:
        return len(self._types)

    def __getitem__(self, place: Any) -> Any:
        return to_array(list(self._rows.column(place)), self._types[place])


def column_of_array(array: Any, type_: SqlType) -> Items:
    """Return the values of an Arrow array; repeated texts share one object."""
    if type_ in (BIGINT, DOUBLE, INTEGER) and not array.null_count:
        numbers: list[Any] = array.to_numpy().tolist()
        return numbers
    if type_ == STRING:
        coded = array.dictionary_encode()
        if len(coded.dictionary) * 2 <= len(array):
            codes = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
            return DictionaryColumn(codes, coded.dictionary.to_pylist())
    return to_values(array, type_)
