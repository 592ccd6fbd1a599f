"""Keeps some rows of a table. Record executor: ``table_filter.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import expression_of
from penstock.kernel.operators.tables.derived_columns import DerivedTableColumns
from penstock.model.rules.table_rule import FilterRule
from penstock.topology.nodes import TableFilter

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(TableFilter)
class TableFilterColumns(DerivedTableColumns):
    """Turns rows that fail the predicate into tombstones; the predicate gets no tombstones."""

    def __init__(self, node: TableFilter, task: TaskServices) -> None:
        super().__init__(node, task)
        self._predicate = expression_of(node.predicate, "its predicate")
        self._rule = FilterRule(node.sends_old, node.versioned)

    def derived(self, batch: Batch) -> BatchColumn:
        known = batch.values.are_known()
        passed = iter(self._predicate(batch.keep(known)))
        stays = [is_known and bool(next(passed)) is not self.node.negate for is_known in known]
        if all(stays):
            return batch.values
        rows = zip(batch.values.values(), stays, strict=True)
        return BatchColumn([value if stay else None for value, stay in rows])

    def process(self, batch: Batch, effects: Effects) -> None:
        self.send(self.with_derived(batch), effects, leaves_out=self._rule.leaves_out)
