"""Replaces the values of a table. Record executor: ``table_map_values.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import mapper_of
from penstock.topology.nodes import TableMapValues

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(TableMapValues)
class TableMapValuesColumns(ColumnExecutor[TableMapValues]):
    """Forwards a new column of values; tombstones stay tombstones."""

    def __init__(self, node: TableMapValues, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.store is not None or node.sends_old:
            raise NotVectorisableError("its rows are stored, or its old values are needed")
        self._mapper = mapper_of(node.fn, "its function", with_key=node.with_key)

    def process(self, batch: Batch, effects: Effects) -> None:
        if not batch.values.has_nulls():
            values = self._mapper(batch)
        else:
            known = batch.values.are_known()
            found = iter(self._mapper(batch.keep(known)))
            values = [next(found) if is_known else None for is_known in known]
        self.forward(batch.with_columns(batch.keys, BatchColumn(values)), effects)
