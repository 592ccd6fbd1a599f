"""Joins of streams and tables with the joins of the DSL; the rows are concatenated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.options.join_options import Joined, StreamJoined
from penstock.model.column_function import ColumnFunction
from penstock.model.columns.row_columns import Items, RowColumns
from penstock.model.windows.definitions import JoinWindows
from penstock.serde.base import Serde
from penstock.sql.ast.queries import Within
from penstock.sql.planner.lowering.column_forms import rows_in
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.steps import (
    ForeignKeyJoinStep,
    JoinStep,
    RekeyStep,
    SourceStep,
    Step,
)

_DAY_MS = 86_400_000


def is_stream_table(step: JoinStep) -> bool:
    return step.right.is_table and not step.left.is_table


def lower_join(step: JoinStep, lowering: Lowering, left: Any, right: Any) -> Any:
    """Join two sides on equal keys."""
    number_source(step.left, lowering)
    if not is_stream_table(step):
        number_source(step.right, lowering)
    if isinstance(left, KStream) and isinstance(right, KStream):
        return _streams(step, lowering, left, right)
    joiner = _joiner(step)
    if isinstance(left, KStream):
        how: Joined[Any, Any, Any] = Joined(
            name=step.name,
            key=lowering.key_serde(step.left),
            value=lowering.value_serde(step.left),
        )
        if step.kind == "LEFT":
            return left.left_join(right, joiner, joined=how)
        return left.join(right, joiner, joined=how)
    return _tables(step, left, right, joiner, lowering.value_serde(step))


def number_source(side: Step, lowering: Lowering) -> None:
    """Count the operator with which ksqlDB adds a source's name to its columns."""
    while isinstance(side, RekeyStep):
        side = side.input
    if isinstance(side, SourceStep):
        lowering.skip_names(1)


def _tables(
    step: JoinStep,
    left: KTable[Any, Any],
    right: KTable[Any, Any],
    joiner: Callable[..., Row],
    serde: Serde[Any],
) -> KTable[Any, Any]:
    match step.kind:
        case "INNER":
            return left.join(right, joiner, value=serde)
        case "LEFT":
            return left.left_join(right, joiner, value=serde)
        case "RIGHT":
            return right.left_join(left, _flipped(joiner), value=serde)
        case "FULL":
            return left.outer_join(right, joiner, value=serde)


def _streams(
    step: JoinStep, lowering: Lowering, left: KStream[Any, Any], right: KStream[Any, Any]
) -> KStream[Any, Any]:
    assert step.within is not None
    joiner, windows = _joiner(step), _windows(step.within)
    how = _stream_joined(step.left, step.right, step.name, lowering)
    match step.kind:
        case "INNER":
            return left.join(right, joiner, windows, stream_joined=how)
        case "LEFT":
            return left.left_join(right, joiner, windows, stream_joined=how)
        case "FULL":
            return left.outer_join(right, joiner, windows, stream_joined=how)
        case "RIGHT":
            how = _stream_joined(step.right, step.left, step.name, lowering)
            mirrored = replace(windows, before_ms=windows.after_ms, after_ms=windows.before_ms)
            return right.left_join(left, _flipped(joiner), mirrored, stream_joined=how)


def _stream_joined(
    left: Step, right: Step, name: str, lowering: Lowering
) -> StreamJoined[Any, Any, Any]:
    return StreamJoined(
        name=name,
        key=lowering.key_serde(left),
        value=lowering.value_serde(left),
        other_value=lowering.value_serde(right),
    )


def _windows(within: Within) -> JoinWindows:
    before, after = within.before.ms, within.after.ms
    if within.grace is not None:
        return JoinWindows(before, after, within.grace.ms)
    # Without a grace period, ksqlDB uses the older join, which emits unmatched rows at once.
    return JoinWindows(before, after, max(_DAY_MS - before - after, 0), is_eager=True)


def _joiner(step: JoinStep) -> Callable[[Any, Row | None, Row | None], Row]:
    no_left = (None,) * len(step.left.columns)
    no_right = (None,) * len(step.right.columns)
    if step.key_columns:
        is_windowed, places = step.window is not None, step.key_columns

        def with_key(key: Any, left: Row | None, right: Row | None) -> Row:
            plain = key.key if is_windowed and key is not None else key
            # A record without a key has no partner, but a FULL JOIN outputs it.
            columns = (None,) * len(places) if plain is None else (plain[i] for i in places)
            return (*(left or no_left), *(right or no_right), *columns)

        return ColumnFunction(with_key)

    def side_by_side(keys: Any, left: Any, right: Any) -> RowColumns | None:
        own, others = rows_in(left), _rows_or(right.values(), no_right)
        return None if own is None else RowColumns([*own.lazily(), *others], len(own))

    return ColumnFunction(
        lambda key, left, right: (*(left or no_left), *(right or no_right)),
        over_columns=side_by_side,
    )


def _rows_or(partners: Items, missing: Row) -> list[Callable[[], Items]]:
    """Return the columns of rows, some of which are missing."""
    if isinstance(partners, RowColumns):
        return partners.lazily()
    return [
        lambda place=place: [(row or missing)[place] for row in partners]  # type: ignore[misc]
        for place in range(len(missing))
    ]


def _flipped(joiner: Callable[..., Row]) -> Callable[[Any, Row | None, Row | None], Row]:
    return lambda key, left, right: joiner(key, right, left)


def lower_foreign_key_join(
    step: ForeignKeyJoinStep, lowering: Lowering, left: KTable[Any, Any], right: KTable[Any, Any]
) -> KTable[Any, Any]:
    """Join on a key of the right side that is computed from the left row."""
    evaluate = lowering.values(step.foreign_key, step.left.columns).one
    no_right = (None,) * len(step.right.columns)

    def foreign_key(row: Row) -> Row | None:
        key = evaluate(row)
        # NULL is equal to nothing, so such a row points at no other.
        return None if None in key else key

    def joiner(own: Row, other: Row | None) -> Row:
        return (*own, *(other or no_right))

    join = left.left_join if step.kind == "LEFT" else left.join
    serde = lowering.value_serde(step)
    return join(right, joiner, foreign_key=foreign_key, name=step.name, value=serde)
