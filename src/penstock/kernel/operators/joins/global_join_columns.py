"""Joins columns with a global table. Record executor: ``global_join.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import expression_of
from penstock.kernel.operators.joins.lookup_columns import LookUpColumns
from penstock.topology.nodes import GlobalJoin

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(GlobalJoin)
class GlobalJoinColumns(LookUpColumns):
    """Joins all records with the same table: a global table does not change while a batch runs."""

    def __init__(self, node: GlobalJoin, task: TaskServices) -> None:
        super().__init__(node, task, node.store)
        self._selector = expression_of(node.key_selector, "its key selector")

    def process(self, batch: Batch, effects: Effects) -> None:
        batch = self.valued(batch, effects)
        if len(batch):
            self.look_up(batch, BatchColumn(self._selector(batch)), effects)

    def resources(self) -> set[str]:
        return set()
