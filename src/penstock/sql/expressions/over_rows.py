"""Expressions over rows that are columns. Row by row: ``compiler``; the kernels: ``columns``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.model.columns.dictionary_column import DictionaryColumn
from penstock.model.columns.row_columns import Items, RowColumns
from penstock.model.sql.errors import SqlError
from penstock.model.sql.types import BIGINT, DOUBLE, INTEGER, STRING, SqlType
from penstock.sql.arrow import to_array, to_values
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.node import Node
from penstock.sql.ast.walk import walk
from penstock.sql.expressions.columns import ColumnExpression, compile_columns
from penstock.sql.expressions.compiler import compile_condition, compile_expression
from penstock.sql.expressions.scope import Scope

OverRows = Callable[[RowColumns], Items]
Mask = NDArray[np.bool_]


def values_over_rows(node: Expression, scope: Scope) -> OverRows:
    """Gives the function from rows to the expression's value of each: the same as one by one."""
    if isinstance(node, ColumnRef):
        place = scope.find(node)[0]
        return lambda rows: rows.column(place)
    found = _kernels(node, scope)
    if found is None:
        evaluate, used = compile_expression(node, scope).evaluate, places_used(node, scope)
        return lambda rows: [evaluate(row) for row in narrowed(rows, used)]
    return lambda rows: column_of_array(_run(found, rows, scope), found.type)


@dataclass(frozen=True, slots=True)
class ArrayOverRows:
    """An expression that Arrow computes, as it has it."""

    type: SqlType
    evaluate: Callable[[RowColumns], Any]


def array_over_rows(node: Expression, scope: Scope) -> ArrayOverRows | None:
    """Gives the expression as Arrow computes it; None if it does not."""
    found = None if isinstance(node, ColumnRef) else _kernels(node, scope)
    if found is None:
        return None
    return ArrayOverRows(found.type, lambda rows: _run(found, rows, scope))


def mask_over_rows(node: Expression, scope: Scope) -> Callable[[RowColumns], Mask]:
    """The same for a condition; what is not known to be true is false."""
    found = _kernels(node, scope)
    if found is None:
        holds, used = compile_condition(node, scope).evaluate, places_used(node, scope)
        return lambda rows: np.fromiter(map(holds, narrowed(rows, used)), bool, len(rows))

    def mask(rows: RowColumns) -> Mask:
        truths: Mask = _run(found, rows, scope).fill_null(False).to_numpy(zero_copy_only=False)
        return truths

    return mask


def places_used(node: Node, scope: Scope) -> frozenset[int]:
    """Where in a row the columns of an expression are."""
    places = set()
    for each in walk(node):
        if isinstance(each, ColumnRef):
            try:
                places.add(scope.find(each)[0])
            except SqlError:
                # The parameter of a lambda is no column.
                continue
    return frozenset(places)


def narrowed(rows: RowColumns, used: frozenset[int]) -> Iterable[Any]:
    """The rows as tuples, with nothing in columns that nobody looks at."""
    if not used:
        return repeat((None,) * rows.width, len(rows))
    columns = (rows.column(n) if n in used else repeat(None) for n in range(rows.width))
    return zip(*columns)  # noqa: B905 - what repeats has no end


def _kernels(node: Expression, scope: Scope) -> ColumnExpression | None:
    try:
        found = compile_columns(node, scope)
    except SqlError:
        # A column of a type that Arrow has not.
        return None
    return found if found.is_vectorised else None


def _run(expression: ColumnExpression, rows: RowColumns, scope: Scope) -> Any:
    types = [column.type for column in scope.columns]
    found = expression.evaluate(_Arrays(rows, types), len(rows))
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


class _Arrays(Sequence[Any]):
    """The columns of rows as Arrow has them, each made when it is asked for."""

    def __init__(self, rows: RowColumns, types: Sequence[SqlType]) -> None:
        self._rows = rows
        self._types = types

    def __len__(self) -> int:
        return len(self._types)

    def __getitem__(self, place: Any) -> Any:
        return to_array(list(self._rows.column(place)), self._types[place])


def column_of_array(array: Any, type_: SqlType) -> Items:
    """The values of an Arrow array; texts that come again and again are kept once."""
    if type_ in (BIGINT, DOUBLE, INTEGER) and not array.null_count:
        numbers: list[Any] = array.to_numpy().tolist()
        return numbers
    if type_ == STRING:
        coded = array.dictionary_encode()
        if len(coded.dictionary) * 2 <= len(array):
            codes = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
            return DictionaryColumn(codes, coded.dictionary.to_pylist())
    return to_values(array, type_)
