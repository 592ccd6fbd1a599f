"""GROUP BY: groups, windows and folds of aggregate functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.stream_options import Grouped
from penstock.model.column_function import ColumnAggregator, ColumnFunction
from penstock.model.columns.row_columns import Items, Places, RowColumns
from penstock.model.field_fold import FieldFold
from penstock.model.user_code import user_code
from penstock.model.windows.definitions import SessionWindows
from penstock.sql.ast.queries import SessionWindow
from penstock.sql.functions.aggregates.basic import same
from penstock.sql.functions.registry import Aggregator
from penstock.sql.ksql_settings import FINAL_IDLE
from penstock.sql.planner.grouping import bind
from penstock.sql.planner.lowering.column_forms import ColumnForm, RowsForm, is_known, rows_in
from penstock.sql.planner.lowering.context import Lowering, Row, RowFunction
from penstock.sql.planner.lowering.distinct_values import (
    DistinctCall,
    DistinctFold,
    distinct_fold,
    values_store,
)
from penstock.sql.planner.lowering.pending import PendingRows, PendingTable, made
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.steps import AggregateStep
from penstock.sql.planner.windows import dsl_windows, retention_ms
from penstock.sql.syntax.format_expression import format_expression

#: How often Kafka Streams looks for closed windows; an internal setting that ksqlDB's tests use.
EMIT_INTERVAL = "ksql.streams.__emit.interval.ms.kstreams.windowed.aggregation__"


def lower_aggregate(step: AggregateStep, lowering: Lowering, rows: Any) -> PendingTable:
    """Fold the arguments of the aggregate calls; the row consists of key and results."""
    fold = _Fold.of(step, lowering)
    states: KTable[Any, Any]
    if step.input.is_table:
        states = _over_table(step, lowering, made(rows), fold)
    else:
        states = _over_stream(step, lowering, rows, fold)
    return PendingTable(states, _result(step, fold), _result_columns(step, fold))


@dataclass(frozen=True, slots=True)
class _Fold:
    """The aggregate calls of a query as one fold over tuples of their arguments."""

    aggregators: tuple[Aggregator, ...]
    # For each aggregator, the positions of its arguments in the tuple.
    slices: tuple[slice, ...]
    arguments: RowFunction[Row]
    argument_types: tuple[Any, ...]
    #: The same fold with its distinct values in a second store, if it has any.
    in_rows: DistinctFold | None

    @staticmethod
    def of(step: AggregateStep, lowering: Lowering) -> _Fold:
        columns = step.input.columns
        aggregators: list[Aggregator] = []
        slices: list[slice] = []
        expressions: list[Any] = []
        distinct: list[DistinctCall] = []
        for call in step.calls:
            bound = bind(call, columns, lowering.environment, is_table=step.input.is_table)
            start = len(expressions)
            expressions.extend(call.arguments[: bound.arity])
            if isinstance(step.window_clause, SessionWindow):
                bound = bound.in_sessions or bound
            aggregators.append(bound)
            slices.append(slice(start, len(expressions)))
            argument = call.arguments[0] if bound.is_distinct else None
            is_descending = bound.is_distinct and bound.undo is None and call.name == "MAX"
            distinct.append(DistinctCall(bound, slices[-1], argument, is_descending))
        types = [lowering.environment.type_of(e, columns) for e in expressions]
        return _Fold(
            tuple(aggregators),
            tuple(slices),
            lowering.values(expressions, columns),
            tuple(types),
            _in_rows(step, distinct, types),
        )

    def initial(self) -> Row | None:
        """Return None: the aggregate forwards it as the old row, and there was no old row."""
        return None

    def add(self, key: Any, values: Row, states: Row | None) -> Row:
        parts = zip(self.aggregators, self.slices, self._started(states), strict=True)
        return tuple([each.aggregate(state, *values[cut]) for each, cut, state in parts])

    def adder(self) -> ColumnAggregator | DistinctFold:
        """Return ``add`` together with its aggregates, which can also run over columns."""
        if self.in_rows is not None:
            return self.in_rows
        fields = (
            FieldFold(cut, each.initialize, each.aggregate, each.over_columns)
            for each, cut in zip(self.aggregators, self.slices, strict=True)
        )
        is_order_free = all(each.is_order_free for each in self.aggregators)
        return ColumnAggregator(self._adder(), is_order_free=is_order_free, fields=tuple(fields))

    def _adder(self) -> Callable[[Any, Row, Row | None], Row]:
        """Return ``add``, or the shorter function that a single aggregate needs."""
        if len(self.aggregators) != 1:
            return self.add
        initialize, aggregate = self.aggregators[0].initialize, self.aggregators[0].aggregate

        def add_one(key: Any, values: Row, states: Row | None) -> Row:
            return (aggregate(initialize() if states is None else states[0], *values),)

        return add_one

    def subtract(self, key: Any, values: Row, states: Row | None) -> Row:
        parts = zip(self.aggregators, self.slices, self._started(states), strict=True)
        return tuple([each.undo(state, *values[cut]) for each, cut, state in parts])  # type: ignore[misc]

    def merge(self, key: Any, left: Row | None, right: Row | None) -> Row | None:
        if left is None or right is None:
            return right if left is None else left
        parts = zip(self.aggregators, left, right, strict=True)
        return tuple([each.merge(a, b) for each, a, b in parts])

    def _started(self, states: Row | None) -> Row:
        if states is None:
            return tuple([each.initialize() for each in self.aggregators])
        return states

    def results(self, states: Row) -> list[Any]:
        return [each.map(state) for each, state in zip(self.aggregators, states, strict=True)]


def _in_rows(
    step: AggregateStep, calls: Sequence[DistinctCall], argument_types: Sequence[Any]
) -> DistinctFold | None:
    """Return the fold that keeps distinct values as rows; None if no call has any."""
    if all(call.argument is None for call in calls):
        return None
    windows: Any = None
    retention: int | None = None
    if step.window_clause is not None:
        windows = dsl_windows(step.window_clause, is_final=step.is_final)
        retention = retention_ms(step.window_clause)
    store = values_store(f"{step.name}-Aggregate-Values", windows, retention)
    return distinct_fold(store, calls, [column.type for column in step.key], argument_types)


def _over_stream(
    step: AggregateStep,
    lowering: Lowering,
    rows: KStream[Any, Any] | PendingRows,
    fold: _Fold,
) -> Any:
    serdes: Any = {
        "key": lowering.plain_key_serde(step),
        "value": row_serde(fold.argument_types),
    }
    pending = rows if isinstance(rows, PendingRows) else _pending(rows)
    if step.keeps_key:
        if step.window_clause is not None:
            # A record without a row belongs to no window. Without windows it has no effect anyway.
            pending = pending.filtered(_EVERY_ROW)
        values: Any = pending.projected(fold.arguments).now()
    else:
        values = pending.stream.flat_map(_regrouped(step, lowering, fold, pending))
    grouped = values.group_by_key(Grouped(name=f"{step.name}-GroupBy", **serdes))
    store = _store(step, lowering, fold)
    if step.window_clause is None:
        return grouped.aggregate(fold.initial, fold.adder(), store)
    windows: Any = dsl_windows(step.window_clause, is_final=step.is_final)
    windowed = grouped.windowed_by(windows)
    if step.is_final:
        windowed = windowed.emit_strategy(_strategy(lowering), idle=_idle(lowering))
    if isinstance(windows, SessionWindows):
        if not step.is_final:
            windowed = windowed.emit_strategy(EmitStrategy.WITH_OLD_VALUE)
        merger = ColumnFunction(fold.merge)
        return windowed.aggregate(fold.initial, fold.adder(), merger, store)
    return windowed.aggregate(fold.initial, fold.adder(), store)


def _strategy(lowering: Lowering) -> EmitStrategy:
    """Return the strategy that emits every window, or that of Kafka Streams for its tests.

    Kafka Streams' own strategy can lose windows. ksqlDB's tests expect that. They run without a
    record cache, and set an internal setting, which selects that strategy here.
    """
    is_as_java = EMIT_INTERVAL in lowering.environment.settings
    return EmitStrategy.AFTER_EXPIRY if is_as_java else EmitStrategy.ON_WINDOW_CLOSE


def _idle(lowering: Lowering) -> int | None:
    """Return the time without rows after which the wall clock closes windows; None if never."""
    given = lowering.environment.settings.get(FINAL_IDLE, "")
    return int(given) if given else None


def _pending(rows: KStream[Any, Any]) -> PendingRows:
    def over_columns(keys: Any, values: Any) -> tuple[None, RowColumns] | None:
        found = rows_in(values)
        return None if found is None else (None, found)

    return PendingRows(rows, lambda _, row: row, over_columns)


_EVERY_ROW = RowFunction(lambda row: True, lambda rows: np.ones(len(rows), bool))


def _store(step: AggregateStep, lowering: Lowering, fold: _Fold) -> Materialized[Any, Any]:
    retention = None if step.window_clause is None else retention_ms(step.window_clause)
    return Materialized(
        name=f"{step.name}-Aggregate-Materialize",
        key=lowering.plain_key_serde(step),
        value=row_serde([each.state_type for each in fold.aggregators]),
        retention=retention,
    )


def _regrouped(
    step: AggregateStep, lowering: Lowering, fold: _Fold, pending: PendingRows
) -> Callable[[Any, Any], tuple[tuple[Row, Row], ...]]:
    groups = lowering.values(step.group_by, step.input.columns)
    group, arguments, rows_of = groups.one, fold.arguments.one, pending.all_rows()
    drop = _dropping(step, lowering)

    def regroup(key: Any, value: Any) -> tuple[tuple[Row, Row], ...]:
        rows = rows_of(key, value)
        row = rows[0] if rows else None
        if row is None:
            return ()
        new = group(row)
        if None in new:
            drop(row)
            return ()
        return ((new, arguments(row)),)

    form = _regrouped_columns(groups.over_rows, fold.arguments.over_rows, pending.columns, drop)
    return ColumnFunction(regroup, over_columns=form)


def _dropping(step: AggregateStep, lowering: Lowering) -> Callable[[Row], None]:
    """Return the function that reports a dropped row: one with a NULL in its group."""
    log = lowering.log(step.input.columns)
    text = ", ".join(format_expression(each) for each in step.group_by)
    return lambda row: log.drop(text, "a row with a NULL in its group belongs to no group", row)


def _regrouped_columns(
    group: RowsForm, arguments: RowsForm, before: ColumnForm, drop: Callable[[Row], None]
) -> Callable[[Any, Any], tuple[Places | None, RowColumns, RowColumns] | None]:
    def over_columns(keys: Any, values: Any) -> tuple[Places | None, RowColumns, RowColumns] | None:
        found = before(keys, values)
        if found is None:
            return None
        places, rows = found
        new = group(rows)
        known = np.ones(len(rows), bool)
        for column in new.columns():
            mask = is_known(column)
            if mask is not None:
                known &= mask
        if not known.all():
            drop(())
            chosen = np.flatnonzero(known)
            places = chosen if places is None else places[chosen]
            new, rows = new.take(chosen), rows.take(chosen)
        return places, new, arguments(rows)

    return over_columns


def _over_table(
    step: AggregateStep, lowering: Lowering, rows: KTable[Any, Any], fold: _Fold
) -> KTable[Any, Any]:
    group = lowering.values(step.group_by, step.input.columns).one
    arguments = fold.arguments.one

    def regroup(key: Any, row: Row) -> tuple[Row | None, Row]:
        new = group(row)
        return (None if None in new else new), arguments(row)

    grouped: Any = rows.group_by(
        regroup,
        Grouped(
            name=f"{step.name}-GroupBy",
            key=lowering.plain_key_serde(step),
            value=row_serde(fold.argument_types),
        ),
    )
    table: KTable[Any, Any] = grouped.aggregate(
        fold.initial, fold.in_rows or fold.add, fold.subtract, _store(step, lowering, fold)
    )
    return table


def _result(step: AggregateStep, fold: _Fold) -> Callable[[Any, Row], Row]:
    if step.window is None and len(fold.aggregators) == 1:
        map_one = fold.aggregators[0].map
        return lambda key, states: (*key, map_one(states[0]))
    if step.window is None:
        return ColumnFunction(lambda key, states: (*key, *fold.results(states)))
    return ColumnFunction(
        lambda key, states: (
            *key.key,
            *fold.results(states),
            key.window.start,
            key.window.end,
        )
    )


def _result_columns(step: AggregateStep, fold: _Fold) -> Callable[[Any, Any], RowColumns | None]:
    """Return the same for columns: those of the key, the results, and the window bounds."""
    maps, width = [each.map for each in fold.aggregators], len(step.key)

    def over_columns(keys: Any, states: Any) -> RowColumns | None:
        found = states.values()
        # A column of windowed keys that have not been built yet has their parts as columns.
        part: Callable[[str], Items] | None = getattr(keys, "member", None)
        if None in found or (part is None) != (step.window is None):
            return None
        plain = keys.values if part is None else partial(part, "key")
        columns: list[Callable[[], Items]] = [partial(_member, plain, n) for n in range(width)]
        columns += [
            partial(_mapped, convert, partial(_member, states.values, n))
            for n, convert in enumerate(maps)
        ]
        if part is not None:
            columns += [partial(part, "start"), partial(part, "end")]
        return RowColumns(columns, len(found))

    return over_columns


def _mapped(convert: Callable[[Any], Any], column: Callable[[], Items]) -> Items:
    found = column()
    if convert is same:
        return found
    with user_code("an aggregate"):
        return [*map(convert, found)]


def _member(made: Callable[[], Items], place: int) -> Items:
    rows = made()
    return rows.column(place) if isinstance(rows, RowColumns) else [*map(itemgetter(place), rows)]
