"""Steps that take rows one by one: WHERE, SELECT, PARTITION BY, table functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.options.materialized import Materialized
from penstock.model.column_function import ColumnFunction
from penstock.model.columns.row_columns import RowColumns
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.walk import walk
from penstock.sql.expressions import Column
from penstock.sql.planner.lowering.column_forms import only_rows, rows_in
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.pending import PendingRows, PendingTable, PendingUpserts, made
from penstock.sql.planner.steps import (
    FilterStep,
    ProjectStep,
    RekeyStep,
    UnionStep,
    UnwindowStep,
)


def lower_filter(step: FilterStep, lowering: Lowering, rows: Any) -> Any:
    holds = lowering.condition(step.condition, step.input.columns)
    if isinstance(rows, PendingRows | PendingUpserts):
        return rows.filtered(holds)
    evaluate, mask_of = holds.one, only_rows(holds.over_rows)
    predicate = ColumnFunction(
        lambda key, row: row is not None and evaluate(row),
        over_columns=lambda keys, values: mask_of(values),
    )
    return made(rows).filter(predicate)


def lower_project(step: ProjectStep, lowering: Lowering, rows: Any) -> Any:
    values = lowering.values(step.expressions, step.input.columns)
    if isinstance(rows, PendingRows | PendingTable | PendingUpserts):
        return rows.projected(values)
    evaluate = values.one
    mapper = ColumnFunction(
        lambda row: None if row is None else evaluate(row),
        over_columns=only_rows(values.over_rows),
    )
    if isinstance(rows, KTable):
        return rows.map_values(mapper, value=lowering.value_serde(step))
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

    def over_columns(keys: Any, values: Any) -> tuple[RowColumns, RowColumns] | None:
        rows = rows_in(values)
        if rows is None:
            return None
        new = project(rows)
        return new, RowColumns([*rows.lazily(), *(new.lazily()[i] for i in appended)], len(rows))

    return rows.map(ColumnFunction(rekeyed, over_columns=over_columns))


def lower_union(step: UnionStep, lowering: Lowering, *streams: KStream[Any, Any]) -> Any:
    """Merge streams whose rows have the same columns."""
    return reduce(lambda one, other: one.merge(other), streams)


def _rekeyed_table(step: RekeyStep, lowering: Lowering, rows: KTable[Any, Any]) -> KTable[Any, Any]:
    """Write the rows of a table to a topic with the same keys in another format."""
    serdes: Any = {
        "key": lowering.key_serde(step),
        "value": lowering.value_serde(step),
    }
    # ksqlDB has a map here that leaves the rows as they are.
    lowering.skip_names(1)
    changes = rows.to_stream().repartition(name=f"{step.name}-SelectKey", **serdes)
    return changes.to_table(Materialized(name=f"{step.name}-Materialize", **serdes))


def lower_unwindow(
    step: UnwindowStep, lowering: Lowering, rows: KTable[Any, Any]
) -> KTable[Any, Any]:
    """Write the rows of a windowed table to a topic whose keys have the windows as columns."""
    starts = [bound == "START" for bound in step.bounds]

    def plain(key: Any, row: Row | None) -> tuple[Row, Row | None]:
        window = key.window
        bounds = [window.start if is_start else window.end for is_start in starts]
        return (*key.key, *bounds), row

    serdes: Any = {
        "key": lowering.key_serde(step),
        "value": lowering.value_serde(step),
    }
    changes = rows.to_stream().map(ColumnFunction(plain)).repartition(name=step.name, **serdes)
    return changes.to_table(Materialized(name=f"{step.name}-Materialize", **serdes))


def _values_of_key(step: RekeyStep, lowering: Lowering) -> Callable[[Row | None], Row]:
    """Return the new key of a record without a row, computed from its old key."""
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
