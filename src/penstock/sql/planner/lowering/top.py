"""The first rows of each partition: a processor that keeps them, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.model.column_function import ColumnFunction
from penstock.model.record import Record
from penstock.model.sql.types import ArrayType
from penstock.processor.processor import FixedKeyProcessor, Processor
from penstock.serde.base import Serde
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.pending import PendingUpserts
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.lowering.top_of_table import top_of_table
from penstock.sql.planner.steps import TopStep
from penstock.state.stores import Stores


def lower_top(
    step: TopStep, lowering: Lowering, rows: KStream[Any, Any] | KTable[Any, Any]
) -> PendingUpserts:
    """Bring the rows of a partition together, and keep the first ones of them."""
    plain = replace(step, key=step.key[: len(step.partition_by)])
    groups = lowering.plain_key_serde(plain)
    if isinstance(rows, KTable):
        changes = top_of_table(step, lowering, rows, groups)
    else:
        changes = _top_of_stream(step, lowering, rows, groups)
    serdes = {"key": lowering.key_serde(step), "value": lowering.value_serde(step)}
    return PendingUpserts(changes, lambda key, row: row, step.name, serdes)


def _top_of_stream(
    step: TopStep, lowering: Lowering, rows: KStream[Any, Any], groups: Serde[Any]
) -> KStream[Any, Any]:
    before = step.input
    types = [column.type for column in before.columns]
    kept = types if step.at_most == 1 else [ArrayType(type_) for type_ in types]
    store = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{step.name}-Rows"), groups, row_serde(kept)
    )
    lowering.builder.add_state_store(store)
    there = rows.filter(ColumnFunction(lambda key, row: row is not None))
    if not step.keeps_key:
        group_of = lowering.values(step.partition_by, before.columns).one
        there = there.map(ColumnFunction(lambda key, row: (group_of(row), row)))
    there = there.filter(ColumnFunction(lambda key, row: _is_whole(key)))
    if not step.keeps_key:
        serde = lowering.value_serde(before)
        there = there.repartition(name=step.name, key=groups, value=serde)
    order = _Order.of(step, lowering)
    if step.at_most == 1:
        return there.process_values(lambda: _First(store.name, order), store.name)
    return there.process(lambda: _FirstOnes(store.name, order, step.at_most), store.name)


def _is_whole(key: Row | None) -> bool:
    """Return whether a row belongs to a partition: NULL belongs to none."""
    return key is not None and None not in key


@dataclass(frozen=True, slots=True)
class _Order:
    """ORDER BY: for each of its keys how it is computed, and in which direction it counts."""

    keys: tuple[Callable[[Row], Any], ...]
    descending: tuple[bool, ...]
    nulls_first: tuple[bool, ...]

    @staticmethod
    def of(step: TopStep, lowering: Lowering) -> _Order:
        items = step.order_by
        columns = step.input.columns
        return _Order(
            tuple(lowering.function(item.expression, columns) for item in items),
            tuple(item.is_descending for item in items),
            tuple(item.puts_nulls_first for item in items),
        )

    def comes_before(self, one: Row, other: Row) -> bool:
        """Return whether a row comes before one that arrived earlier: equal rows do not."""
        for key, descends, nulls_first in zip(
            self.keys, self.descending, self.nulls_first, strict=True
        ):
            mine, theirs = key(one), key(other)
            if mine == theirs:
                continue
            if mine is None or theirs is None:
                return (mine is None) == nulls_first
            return bool(mine > theirs) if descends else bool(mine < theirs)
        return False

    def place(self, row: Row, rows: Sequence[Row]) -> int:
        """Return where a new row belongs among rows that are in order."""
        at = len(rows)
        while at > 0 and self.comes_before(row, rows[at - 1]):
            at -= 1
        return at


class _First(FixedKeyProcessor[Any, Row, Row]):
    """Keeps the first row of each key, and forwards it whenever it is another one."""

    def __init__(self, store: str, order: _Order) -> None:
        self._store = store
        self._order = order

    def process(self, record: Any) -> None:
        rows: Any = self.context.get_state_store(self._store)
        known = rows.get(record.key)
        if known is not None and not self._order.comes_before(record.value, known):
            return
        rows.put(record.key, record.value)
        self.context.forward(record.with_value((*record.value, *record.key, 1)))


class _FirstOnes(Processor[Row, Row, Row, Row]):
    """Keeps the first rows of each key, and forwards each rank that has another row now."""

    def __init__(self, store: str, order: _Order, at_most: int) -> None:
        self._store = store
        self._order = order
        self._at_most = at_most

    def process(self, record: Record[Row, Row]) -> None:
        states: Any = self.context.get_state_store(self._store)
        columns = states.get(record.key)
        rows = [] if columns is None else [*zip(*columns, strict=True)]
        place = self._order.place(record.value, rows)
        if place >= self._at_most:
            return
        rows.insert(place, record.value)
        del rows[self._at_most :]
        states.put(record.key, tuple(map(list, zip(*rows, strict=True))))
        for number, row in enumerate(rows[place:], place + 1):
            key = (*record.key, number)
            self.context.forward(record.with_key(key).with_value((*row, *record.key, number)))
