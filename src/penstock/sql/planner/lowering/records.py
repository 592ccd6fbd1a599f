"""Steps that take rows one by one: WHERE, SELECT, PARTITION BY, table functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from penstock.dsl.kstream import KStream
from penstock.dsl.ktable import KTable
from penstock.dsl.materialized import Materialized
from penstock.model.coded import coded_texts
from penstock.model.pure import pure
from penstock.model.rows import Items, Places, Rows
from penstock.sql.ast.expressions import ColumnRef, Expression, FunctionCall
from penstock.sql.ast.walk import walk
from penstock.sql.expressions import Column
from penstock.sql.expressions.compiler import compile_node
from penstock.sql.expressions.over_rows import narrowed, places_used
from penstock.sql.planner.lowering.column_forms import only_rows, rows_in
from penstock.sql.planner.lowering.context import Lowering, ProcessingLog, Row, RowFunction
from penstock.sql.planner.lowering.pending import PendingRows, PendingTable, made
from penstock.sql.planner.steps import ExplodeStep, FilterStep, ProjectStep, RekeyStep
from penstock.sql.types import STRING, SqlType


def lower_filter(step: FilterStep, lowering: Lowering, rows: Any) -> Any:
    holds = lowering.condition(step.condition, step.input.columns)
    if isinstance(rows, PendingRows):
        return rows.filtered(holds)
    evaluate, mask_of = holds.one, only_rows(holds.over_rows)
    predicate = pure(
        lambda key, row: row is not None and evaluate(row),
        over_columns=lambda keys, values: mask_of(values),
    )
    return made(rows).filter(predicate)


def lower_project(step: ProjectStep, lowering: Lowering, rows: Any) -> Any:
    values = lowering.values(step.expressions, step.input.columns)
    if isinstance(rows, PendingRows | PendingTable):
        return rows.projected(values)
    evaluate = values.one
    mapper = pure(
        lambda row: None if row is None else evaluate(row),
        over_columns=only_rows(values.over_rows),
    )
    return rows.map_values(mapper)


def lower_rekey(
    step: RekeyStep, lowering: Lowering, rows: KStream[Any, Any] | KTable[Any, Any]
) -> KStream[Any, Any] | KTable[Any, Any]:
    if isinstance(rows, KTable):
        return _rekeyed_table(step, lowering, rows)
    if step.is_forced:
        return rows.select_key(lambda key, row: key)
    if not step.expressions:
        return rows.select_key(lambda key, row: None)
    values = lowering.values(step.expressions, step.input.columns)
    evaluate, project = values.one, values.over_rows
    without_row = _values_of_key(step, lowering)
    appended = step.appended

    def rekeyed(key: Any, row: Row | None) -> tuple[Any, Row | None]:
        if row is None:
            return without_row(key), None
        new = evaluate(row)
        return new, (*row, *(new[i] for i in appended)) if appended else row

    def over_columns(keys: Any, values: Any) -> tuple[Rows, Rows] | None:
        rows = rows_in(values)
        if rows is None:
            return None
        new = project(rows)
        return new, Rows([*rows.lazily(), *(new.lazily()[i] for i in appended)], len(rows))

    return rows.map(pure(rekeyed, over_columns=over_columns))


def _rekeyed_table(step: RekeyStep, lowering: Lowering, rows: KTable[Any, Any]) -> KTable[Any, Any]:
    """Writes the rows of a table anew, under the same key in another format."""
    serdes: Any = {
        "key_serde": lowering.key_serde(step),
        "value_serde": lowering.value_serde(step),
    }
    changes = rows.to_stream().repartition(name=f"{step.name}-SelectKey", **serdes)
    return changes.to_table(Materialized(name=f"{step.name}-Materialize", **serdes))


def _values_of_key(step: RekeyStep, lowering: Lowering) -> Callable[[Row | None], Row]:
    """Gives the new key of a record that has no row, as far as the old key decides it."""
    old = zip(step.key_refs, step.input.key, strict=True)
    columns = tuple(Column(ref.name, column.type, ref.source) for ref, column in old)
    no_key = (None,) * len(columns)
    functions = [
        lowering.function(expression, columns) if _uses_only(expression, step.key_refs) else None
        for expression in step.expressions
    ]
    return lambda key: tuple(
        [None if function is None else function(key or no_key) for function in functions]
    )


def _uses_only(expression: Expression, refs: tuple[ColumnRef, ...]) -> bool:
    return all(node in refs for node in walk(expression) if isinstance(node, ColumnRef))


def lower_explode(
    step: ExplodeStep, lowering: Lowering, rows: KStream[Any, Any]
) -> KStream[Any, Any]:
    functions = [_rows_of(call, step, lowering) for call in step.calls]

    def explode(row: Row | None) -> list[Row]:
        if row is None:
            return []
        # Functions of different length are zipped; the shorter ones end in NULLs.
        found = zip_longest(*(function.one(row) for function in functions))
        return [(*row, *values) for values in found]

    return rows.flat_map_values(pure(explode, over_columns=_exploded_columns(step, functions)))


def _exploded_columns(
    step: ExplodeStep, functions: list[RowFunction[list[Any]]]
) -> Callable[[Any], tuple[Places, Rows] | None]:
    types = [column.type for column in step.columns[len(step.input.columns) :]]

    def over_columns(values: Any) -> tuple[Places, Rows] | None:
        rows = rows_in(values)
        if rows is None:
            return None
        found = [function.over_rows(rows) for function in functions]
        pieces, columns = _together(found)
        counts = np.fromiter(map(len, pieces), np.int64, len(pieces))
        places = np.repeat(np.arange(len(pieces)), counts)
        made = [_compact(c, t) for c, t in zip(columns, types, strict=True)]
        return places, Rows([*rows.take(places).lazily(), *made], len(places))

    return over_columns


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
    # Without a guard: a row whose arguments fail gives no rows at all.
    arguments = [compile_node(argument, scope) for argument in call.arguments]  # type: ignore[arg-type]
    _, function = lowering.environment.functions.bind_table(
        call.name, [argument.type for argument in arguments]
    )
    evaluators = [argument.evaluate for argument in arguments]
    log = ProcessingLog(lowering.query_id)

    def rows(row: Row) -> list[Any]:
        try:
            return list(function(*(evaluate(row) for evaluate in evaluators)) or ())
        # Whatever a user's function does, a bad record must not stop the query.
        except Exception as error:  # noqa: BLE001
            log(call.name, error)
            return []

    used = frozenset[int]().union(*(places_used(each, scope) for each in call.arguments))
    return RowFunction(rows, lambda many: [rows(row) for row in narrowed(many, used)])
