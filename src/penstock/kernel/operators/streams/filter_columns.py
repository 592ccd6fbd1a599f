"""Keeps some records of columns. Record executor: ``filter.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.expr.absent import AbsentFields
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import expression_of
from penstock.kernel.operators.absent_fields import count_absent, may_lack
from penstock.topology.nodes import Filter

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Filter)
class FilterColumns(ColumnExecutor[Filter]):
    """Keeps the records for which the predicate is true."""

    def __init__(self, node: Filter, task: TaskServices) -> None:
        super().__init__(node, task)
        self._predicate = expression_of(node.predicate, "its predicate")
        self._absent = AbsentFields.of_predicate(node.predicate)

    def process(self, batch: Batch, effects: Effects) -> None:
        mask = self._predicate(batch)
        if self.node.negate:
            mask = [not kept for kept in mask]
        elif may_lack(self._absent, [mask]):
            pairs = zip(batch.values.values(), mask, strict=True)
            unknown = (value for value, kept in pairs if kept is None)
            count_absent(self._absent, self.node.name, unknown, effects)
        self.forward(batch.keep(mask), effects)
