"""Replaces the column of keys. Record executor: ``select_key.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.expr.expression import Value
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import expression_of
from penstock.topology.nodes import SelectKey

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(SelectKey)
class SelectKeyColumns(ColumnExecutor[SelectKey]):
    """Forwards a new column of keys with the old values."""

    def __init__(self, node: SelectKey, task: TaskServices) -> None:
        super().__init__(node, task)
        self._selector = expression_of(node.fn, "its function")

    def process(self, batch: Batch, effects: Effects) -> None:
        # If the key is the value itself, one column is both and is encoded only once.
        is_value = isinstance(self.node.fn, Value)
        keys = batch.values if is_value else BatchColumn(self._selector(batch))
        self.forward(batch.with_columns(keys, batch.values), effects)
