"""Turns columns into a table. Record executor: ``table_source.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import grouped
from penstock.kernel.columns.nulls import taken_by
from penstock.kernel.columns.store_rows import bulk_of, settled, stored_keys, written_rows
from penstock.model.rules.table_rule import TABLE_NULLS, is_change
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes import TableSource

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(TableSource)
class TableSourceColumns(ColumnExecutor[TableSource]):
    """Stores the last record of each key in the batch as its row; a null value deletes the row.

    Behind a cache, only that record is sent. If a key came and went within the batch, its tombstone
    is neither stored nor sent.
    """

    def __init__(self, node: TableSource, task: TaskServices) -> None:
        super().__init__(node, task)
        self._rows: BulkRows | None = None if node.store is None else bulk_of(node, task)
        self._gathered = Gathered()
        has_readers = bool(task.children(node.name))
        self.runs_once = has_readers and self._rows is not None and self._rows.is_cached

    def process(self, batch: Batch, effects: Effects) -> None:
        batch = taken_by(TABLE_NULLS, batch, effects, self.node.name)
        rows = self._rows
        if rows is not None and len(batch):
            keys, values = (
                stored_keys(batch.keys, rows.keys.serde),
                batch.values.encoded(rows.values.serde),
            )
            self._gathered.add(
                keys, [values], batch.timestamps, batch.headers, origins=batch.origins
            )
        if rows is None or not rows.is_cached:
            self.forward(batch, effects)

    def finish(self, effects: Effects) -> None:
        gathered, self._gathered = self._gathered, Gathered()
        if self._rows is not None and len(gathered):
            last = self._store(gathered, self._rows, effects)
            if self._rows.is_cached:
                self.forward(last, effects)
        super().finish(effects)

    def reset(self) -> None:
        self._gathered = Gathered()

    def _store(self, records: Gathered, rows: BulkRows, effects: Effects) -> Batch:
        settled(rows)
        store = self.node.store or ""
        key_serde, serde = rows.keys.serde, rows.values.serde
        groups = grouped(records.keys)
        last = Batch(
            BatchColumn(encoded=records.keys, serde=key_serde, is_input=False),
            # A cache sends what it reads back.
            BatchColumn(encoded=records.items[0], serde=serde, is_input=False),  # type: ignore[arg-type]
            records.timestamps,
            records.headers,
            records.origins,
        ).take(groups.last_places()[groups.in_turn()])
        if rows.is_cached and last.values.has_nulls():
            keys = last.keys.encoded(key_serde)
            # If an earlier run of the batch has deleted the row, this tombstone is a change of its
            # timestamp.
            changed = effects.written(store)
            stored = zip(keys, rows.read(keys), last.values.are_known(), strict=True)  # type: ignore[arg-type]
            last = last.keep(
                [
                    is_change(is_known, row is not None or key in changed)
                    for key, row, is_known in stored
                ]
            )
        values = last.values.encoded(serde)
        present = [b"" if value is None else value for value in values]
        written = [
            None if value is None else row
            for value, row in zip(values, written_rows(last.timestamps, present), strict=True)
        ]
        keys = last.keys.encoded(key_serde)
        effects.write(store, rows, keys, written, last.timestamps.tolist())  # type: ignore[arg-type]
        return last

    def resources(self) -> set[str]:
        return set() if self.node.store is None else {f"store {self.node.store!r}"}
