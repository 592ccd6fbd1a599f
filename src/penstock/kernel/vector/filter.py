"""Keeps some records of columns. Record at a time: ``penstock.kernel.filter``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.vector.batch import Batch
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.functions import expression_of
from penstock.kernel.vector.step import Step, vectorises
from penstock.topology.nodes import Filter

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Filter)
class FilterColumns(Step[Filter]):
    """Keeps the records for which the predicate is true."""

    def __init__(self, node: Filter, task: TaskServices) -> None:
        super().__init__(node, task)
        self._predicate = expression_of(node.predicate, "its predicate")

    def process(self, batch: Batch, effects: Effects) -> None:
        mask = self._predicate(batch)
        if self.node.negate:
            mask = [not kept for kept in mask]
        self.forward(batch.keep(mask), effects)
