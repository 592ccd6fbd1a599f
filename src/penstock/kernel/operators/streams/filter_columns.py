"""Keeps some records of columns. Record executor: ``filter.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import expression_of
from penstock.topology.nodes import Filter

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Filter)
class FilterColumns(ColumnExecutor[Filter]):
    """Keeps the records for which the predicate is true."""

    def __init__(self, node: Filter, task: TaskServices) -> None:
        super().__init__(node, task)
        self._predicate = expression_of(node.predicate, "its predicate")

    def process(self, batch: Batch, effects: Effects) -> None:
        mask = self._predicate(batch)
        if self.node.negate:
            mask = [not kept for kept in mask]
        self.forward(batch.keep(mask), effects)
