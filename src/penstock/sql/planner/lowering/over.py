"""ROW_NUMBER and LAG: a processor that remembers how many rows there were, and the last values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.model.column_function import ColumnFunction
from penstock.model.record import Record
from penstock.model.sql.types import BIGINT, ArrayType
from penstock.processor.processor import FixedKeyProcessor, Processor
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.steps import OverCall, OverStep
from penstock.state.stores import Stores


def lower_over(step: OverStep, lowering: Lowering, rows: KStream[Any, Any]) -> KStream[Any, Any]:
    """Repartition rows by PARTITION BY, unless it is their key."""
    columns = step.input.columns
    numbers = _Numbers.of(step, lowering)
    types = [lowering.environment.type_of(each, columns) for each in step.partition_by]
    partitions = row_serde([type_ for type_ in types if type_ is not None])
    states = row_serde([BIGINT, BIGINT, *(ArrayType(call.type) for call in step.calls)])
    store = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{step.name}-Rows"), partitions, states
    )
    lowering.builder.add_state_store(store)
    there = rows.filter(ColumnFunction(lambda key, row: row is not None))
    if step.keeps_key:
        return there.process_values(lambda: _InPlace(store.name, numbers), store.name)
    partition = lowering.values(step.partition_by, columns).one
    key_of = lowering.values(step.key_refs, columns).one
    together = there.map(ColumnFunction(lambda key, row: (partition(row), row))).repartition(
        name=step.name, key=partitions, value=lowering.value_serde(step.input)
    )
    return together.process(lambda: _ThroughTopic(store.name, numbers, key_of), store.name)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Computes the calls for a row, and keeps what they need for the next one."""

    calls: tuple[OverCall, ...]
    values: tuple[Callable[[Row], Any], ...]
    defaults: tuple[Callable[[Row], Any], ...]
    by_time: bool

    @staticmethod
    def of(step: OverStep, lowering: Lowering) -> _Numbers:
        def function(expression: Any) -> Callable[[Row], Any]:
            if expression is None:
                return lambda row: None
            return lowering.function(expression, step.input.columns)

        return _Numbers(
            step.calls,
            tuple(function(call.value) for call in step.calls),
            tuple(function(call.default) for call in step.calls),
            step.by_time,
        )

    def row(self, states: Any, partition: Row | None, row: Row, timestamp: int) -> Row | None:
        """Return the row with the results appended; None if it comes too late."""
        if partition is None or None in partition:
            # NULL belongs to no partition.
            return (*row, *(None for _ in self.calls))
        found = states.get(partition)
        count, last, *before = found or (0, timestamp, *([] for _ in self.calls))
        if self.by_time and timestamp < last:
            return None
        results: list[Any] = []
        after: list[list[Any]] = []
        for place, call in enumerate(self.calls):
            values = list(before[place])
            if call.name == "ROW_NUMBER":
                results.append(count + 1)
                after.append([])
                continue
            reached = len(values) == call.rows
            results.append(values[0] if reached else self.defaults[place](row))
            after.append([*values[reached:], self.values[place](row)])
        states.put(partition, (count + 1, max(last, timestamp), *after))
        return (*row, *results)


class _InPlace(FixedKeyProcessor[Any, Row, Row]):
    """Processes rows whose key is their PARTITION BY."""

    def __init__(self, store: str, numbers: _Numbers) -> None:
        self._store = store
        self._numbers = numbers

    def process(self, record: Any) -> None:
        states = self.context.get_state_store(self._store)
        row = self._numbers.row(states, record.key, record.value, record.timestamp)
        if row is not None:
            self.context.forward(record.with_value(row))


class _ThroughTopic(Processor[Row, Row, Any, Row]):
    """Processes rows that were repartitioned, and forwards them with their original key."""

    def __init__(self, store: str, numbers: _Numbers, key_of: Callable[[Row], Row]) -> None:
        self._store = store
        self._numbers = numbers
        self._key_of = key_of

    def process(self, record: Record[Row, Row]) -> None:
        states = self.context.get_state_store(self._store)
        row = self._numbers.row(states, record.key, record.value, record.timestamp)
        if row is None:
            return
        key = self._key_of(record.value)
        # A record without a key has NULL in all columns of the key.
        has_key = any(part is not None for part in key)
        self.context.forward(record.with_key(key if has_key else None).with_value(row))
