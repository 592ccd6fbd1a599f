"""CHANGES(table): a processor that remembers the row of each key."""

from __future__ import annotations

from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.model.record import FixedKeyRecord
from penstock.processor.processor import FixedKeyProcessor
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.rows import row_serde
from penstock.sql.planner.steps import ChangesStep
from penstock.state.stores import Stores


def lower_changes(
    step: ChangesStep, lowering: Lowering, rows: KStream[Any, Any]
) -> KStream[Any, Any]:
    """Turn each record of a table's topic into a row that describes the change."""
    values = step.input.source.schema.value
    store = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{step.name}-Rows"),
        lowering.key_serde(step.input),
        row_serde([column.type for column in values]),
    )
    lowering.builder.add_state_store(store)
    names = tuple(column.name for column in values)
    headers = len(step.input.source.schema.headers)
    return rows.process_values(lambda: _Changes(store.name, names, headers), store.name)


class _Changes(FixedKeyProcessor[Any, Row | None, Row]):
    """Compares each record with the previous row of its key."""

    def __init__(self, store: str, names: tuple[str, ...], headers: int) -> None:
        self._store = store
        self._names = names
        self._headers = headers

    def process(self, record: FixedKeyRecord[Any, Row | None]) -> None:
        if record.key is None:
            # A table has no row without a key.
            return
        rows: Any = self.context.get_state_store(self._store)
        before, row = rows.get(record.key), record.value
        if row is None and before is None:
            return
        rows.put(record.key, None if row is None else row[: len(self._names)])
        change = "DELETE" if row is None else "INSERT" if before is None else "UPDATE"
        old = None if before is None else dict(zip(self._names, before, strict=True))
        after = self._without_values(record) if row is None else row
        self.context.forward(record.with_value((*after, change, old)))

    def _without_values(self, record: FixedKeyRecord[Any, Row | None]) -> Row:
        """Return the row of a deletion: its key and its place, and NULLs."""
        at = self.context.record_metadata
        place = (record.timestamp, at.partition, at.offset) if at else (record.timestamp, -1, -1)
        window = getattr(record.key, "window", None)
        bounds = () if window is None else (window.start, window.end)
        key = record.key if window is None else record.key.key
        missing = (None,) * (len(self._names) + self._headers)
        return (*missing, *place, *key, *bounds)
