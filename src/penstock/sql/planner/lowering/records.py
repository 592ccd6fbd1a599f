"""Steps that take rows one by one: WHERE, SELECT, PARTITION BY, table functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from penstock.dsl.kstream import KStream
from penstock.dsl.ktable import KTable
from penstock.dsl.materialized import Materialized
from penstock.model.pure import pure
from penstock.sql.ast.expressions import ColumnRef, Expression, FunctionCall
from penstock.sql.ast.walk import walk
from penstock.sql.expressions import Column
from penstock.sql.expressions.compiler import compile_node
from penstock.sql.planner.lowering.context import Lowering, ProcessingLog, Row
from penstock.sql.planner.lowering.pending import PendingRows, PendingTable, made
from penstock.sql.planner.steps import ExplodeStep, FilterStep, ProjectStep, RekeyStep


def lower_filter(step: FilterStep, lowering: Lowering, rows: Any) -> Any:
    holds = lowering.condition(step.condition, step.input.columns)
    if isinstance(rows, PendingRows):
        return rows.filtered(holds)
    return made(rows).filter(pure(lambda key, row: row is not None and holds(row)))


def lower_project(step: ProjectStep, lowering: Lowering, rows: Any) -> Any:
    values = lowering.values(step.expressions, step.input.columns)
    if isinstance(rows, PendingRows | PendingTable):
        return rows.projected(values)
    return rows.map_values(pure(lambda row: None if row is None else values(row)))


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
    without_row = _values_of_key(step, lowering)
    appended = step.appended

    def rekeyed(key: Any, row: Row | None) -> tuple[Any, Row | None]:
        if row is None:
            return without_row(key), None
        new = values(row)
        return new, (*row, *(new[i] for i in appended)) if appended else row

    return rows.map(pure(rekeyed))


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
        found = zip_longest(*(function(row) for function in functions))
        return [(*row, *values) for values in found]

    return rows.flat_map_values(pure(explode))


def _rows_of(
    call: FunctionCall, step: ExplodeStep, lowering: Lowering
) -> Callable[[Row], list[Any]]:
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

    return rows
