"""Replaces the values of a table. Record executor: ``table_map_values.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import mapper_of
from penstock.kernel.operators.tables.derived_columns import DerivedTableColumns
from penstock.topology.nodes import TableMapValues

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(TableMapValues)
class TableMapValuesColumns(DerivedTableColumns):
    """Makes a new column of values; tombstones stay tombstones."""

    def __init__(self, node: TableMapValues, task: TaskServices) -> None:
        super().__init__(node, task)
        self._mapper = mapper_of(node.fn, "its function", with_key=node.with_key)

    def derived(self, batch: Batch) -> BatchColumn:
        if not batch.values.has_nulls():
            return BatchColumn(self._mapper(batch))
        known = batch.values.are_known()
        found = iter(self._mapper(batch.keep(known)))
        return BatchColumn([next(found) if is_known else None for is_known in known])

    def process(self, batch: Batch, effects: Effects) -> None:
        self.send(self.with_derived(batch), effects)
