"""Replaces the column of values. Record executor: ``map_values.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import mapper_of
from penstock.topology.nodes import MapValues

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(MapValues)
class MapValuesColumns(ColumnExecutor[MapValues]):
    """Forwards a new column of values with the old keys."""

    def __init__(self, node: MapValues, task: TaskServices) -> None:
        super().__init__(node, task)
        self._mapper = mapper_of(node.fn, "its function", with_key=node.with_key)

    def process(self, batch: Batch, effects: Effects) -> None:
        values = BatchColumn(self._mapper(batch))
        self.forward(batch.with_columns(batch.keys, values), effects)
