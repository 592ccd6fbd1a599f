"""Keeps some rows of a table. Record executor: ``table_filter.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import expression_of
from penstock.topology.nodes import TableFilter

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(TableFilter)
class TableFilterColumns(ColumnExecutor[TableFilter]):
    """Turns rows that fail the predicate into tombstones; the predicate gets no tombstones."""

    def __init__(self, node: TableFilter, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.store is not None or node.sends_old:
            raise NotVectorisableError("its rows are stored, or its old values are needed")
        self._predicate = expression_of(node.predicate, "its predicate")

    def process(self, batch: Batch, effects: Effects) -> None:
        known = batch.values.are_known()
        passed = iter(self._predicate(batch.keep(known)))
        stays = [is_known and bool(next(passed)) is not self.node.negate for is_known in known]
        if not all(stays):
            rows = zip(batch.values.values(), stays, strict=True)
            values = BatchColumn([value if stay else None for value, stay in rows])
            batch = batch.with_columns(batch.keys, values)
        self.forward(batch, effects)
