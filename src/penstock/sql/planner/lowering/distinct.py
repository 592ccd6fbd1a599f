"""SELECT DISTINCT over a stream: a store has the rows that were already forwarded."""

from __future__ import annotations

from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.model.column_function import ColumnFunction
from penstock.model.record import Record
from penstock.processor.processor import Processor
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.steps import DistinctStep
from penstock.state.stores import Stores


def lower_distinct(
    step: DistinctStep, lowering: Lowering, rows: KStream[Any, Any]
) -> KStream[Any, Any]:
    """Send equal rows to one task, whatever their key, and forward the first of them."""
    width = len(step.key) if step.has_key else 0
    no_key = (None,) * width
    types = [column.type for column in step.columns]
    if width:
        types = [*(column.type for column in step.key), *types]
    identities = row_serde(types)
    nothing = row_serde(())

    def keyed(key: Row | None, row: Row) -> tuple[Row, Row]:
        return (*(no_key if key is None else key)[:width], *row), ()

    store = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{step.name}-Seen"), identities, nothing
    )
    lowering.builder.add_state_store(store if step.ttl_ms is None else store.with_ttl(step.ttl_ms))
    together = (
        rows.filter(ColumnFunction(lambda key, row: row is not None))
        .map(ColumnFunction(keyed))
        .repartition(name=step.name, key=identities, value=nothing)
    )
    return together.process(lambda: _FirstOfEach(store.name, width), store.name)


class _FirstOfEach(Processor[Row, Row, Any, Row]):
    """Forwards a row that is not in the store yet, with its original key."""

    def __init__(self, store: str, width: int) -> None:
        self._store = store
        self._width = width

    def process(self, record: Record[Row, Row]) -> None:
        seen: Any = self.context.get_state_store(self._store)
        identity = record.key
        if seen.get(identity) is not None:
            return
        seen.put(identity, ())
        key = identity[: self._width]
        # A record without a key has NULL in all columns of the key.
        has_key = any(part is not None for part in key)
        self.context.forward(
            record.with_key(key if has_key else None).with_value(identity[self._width :])
        )
