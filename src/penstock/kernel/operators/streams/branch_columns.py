"""Divides columns among children. Record executor: ``branch.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import expression_of
from penstock.topology.nodes import Branch

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Branch)
class BranchColumns(ColumnExecutor[Branch]):
    """Sends each child the records of its predicate that no earlier predicate took."""

    def __init__(self, node: Branch, task: TaskServices) -> None:
        super().__init__(node, task)
        self._predicates = [expression_of(each, "a predicate") for each in node.predicates]

    def process(self, batch: Batch, effects: Effects) -> None:
        ways = {child.node.name: child for child in self.children}
        for predicate, name in zip(self._predicates, self.node.children, strict=True):
            if not len(batch):
                return
            mask = predicate(batch)
            taken = batch.keep(mask)
            if len(taken):
                ways[name].process(taken, effects)
            batch = batch.keep([not is_taken for is_taken in mask])
        if self.node.default is not None and len(batch):
            ways[self.node.default].process(batch, effects)
