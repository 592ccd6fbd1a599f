"""Table functions: one row in, a row for each of their values out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from penstock.dsl.faces.kstream import KStream
from penstock.model.column_function import ColumnFunction
from penstock.model.columns.dictionary_column import coded_texts
from penstock.model.columns.row_columns import Items, Places, RowColumns
from penstock.model.sql.types import STRING, ArrayType, SqlType
from penstock.sql.ast.expressions import FunctionCall, Lambda
from penstock.sql.expressions.compiler import compile_node
from penstock.sql.expressions.over_rows import (
    array_over_rows,
    column_of_array,
    narrowed,
    places_used,
)
from penstock.sql.functions.table_functions import explode
from penstock.sql.planner.lowering.column_forms import rows_in
from penstock.sql.planner.lowering.context import Lowering, Row, RowFunction
from penstock.sql.planner.steps import ExplodeStep
from penstock.sql.syntax.format_expression import format_expression

#: The number of values of each row, and a column with all values for each function.
Exploded = tuple[Places, Sequence[Items]]


def lower_explode(
    step: ExplodeStep, lowering: Lowering, rows: KStream[Any, Any]
) -> KStream[Any, Any]:
    functions = [_rows_of(call, step, lowering) for call in step.calls]

    def exploded(row: Row | None) -> list[Row]:
        if row is None:
            return []
        # Results of different lengths are combined by position; shorter ones are filled up with
        # NULLs.
        found = zip_longest(*(function.one(row) for function in functions))
        return [(*row, *values) for values in found]

    over_arrays = _over_arrays(step, lowering)
    found = _over_lists(step, functions) if over_arrays is None else over_arrays
    return rows.flat_map_values(ColumnFunction(exploded, over_columns=_over_columns(found)))


def _over_columns(explode_all: Callable[[RowColumns], Exploded]) -> Callable[[Any], Any]:
    def over_columns(values: Any) -> tuple[Places, RowColumns] | None:
        rows = rows_in(values)
        if rows is None:
            return None
        counts, columns = explode_all(rows)
        places = np.repeat(np.arange(len(rows)), counts)
        return places, RowColumns([*rows.take(places).lazily(), *columns], len(places))

    return over_columns


def _over_arrays(step: ExplodeStep, lowering: Lowering) -> Callable[[RowColumns], Exploded] | None:
    """Return the form of EXPLODE over an array that Arrow computes; no Python list is made."""
    call, scope = step.calls[0], lowering.scope(step.input.columns)
    argument = call.arguments[0]
    if len(step.calls) > 1 or isinstance(argument, Lambda):
        return None
    array = array_over_rows(argument, scope)
    if array is None or not isinstance(array.type, ArrayType):
        return None
    if lowering.environment.functions.bind_table(call.name, [array.type])[1] is not explode:
        return None
    element = array.type.element

    def explode_all(rows: RowColumns) -> Exploded:
        lists = array.evaluate(rows)
        counts: Places = lists.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        return counts, [column_of_array(lists.flatten(), element)]

    return explode_all


def _over_lists(
    step: ExplodeStep, functions: list[RowFunction[list[Any]]]
) -> Callable[[RowColumns], Exploded]:
    types = [column.type for column in step.columns[len(step.input.columns) :]]

    def explode_all(rows: RowColumns) -> Exploded:
        pieces, columns = _together([function.over_rows(rows) for function in functions])
        counts = np.fromiter(map(len, pieces), np.int64, len(pieces))
        return counts, [_compact(c, t) for c, t in zip(columns, types, strict=True)]

    return explode_all


def _together(found: list[list[list[Any]]]) -> tuple[list[list[Any]], list[Items]]:
    """What each record becomes, and the columns of all that: one for each function."""
    if len(found) == 1:
        return found[0], [[*chain.from_iterable(found[0])]]
    pieces = [[*zip_longest(*lists)] for lists in zip(*found, strict=True)]
    columns: list[Items] = [*zip(*chain.from_iterable(pieces), strict=True)]
    return pieces, columns or [()] * len(found)


def _compact(column: Items, type_: SqlType) -> Items:
    coded = coded_texts(column) if type_ == STRING else None
    return column if coded is None else coded


def _rows_of(call: FunctionCall, step: ExplodeStep, lowering: Lowering) -> RowFunction[list[Any]]:
    scope = lowering.scope(step.input.columns)
    # There is no guard here: a row whose arguments fail has no output rows.
    arguments = [compile_node(argument, scope) for argument in call.arguments]  # type: ignore[arg-type]
    _, function = lowering.environment.functions.bind_table(
        call.name, [argument.type for argument in arguments]
    )
    evaluators = [argument.evaluate for argument in arguments]
    log, text = scope.log, format_expression(call)

    def rows(row: Row) -> list[Any]:
        try:
            return list(function(*(evaluate(row) for evaluate in evaluators)) or ())
        # An error in a user's function must not stop the query.
        except Exception as error:  # noqa: BLE001
            log(text, error, row)
            return []

    used = frozenset[int]().union(*(places_used(each, scope) for each in call.arguments))
    return RowFunction(rows, lambda many: [rows(row) for row in narrowed(many, used)])
