"""Joins two tables on their key over columns. Record executor: ``table_join.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.operators.tables.derived_columns import StoredTableColumns
from penstock.kernel.operators.tables.read_rows import SideJoin, table_rows
from penstock.model.rules.drop_reasons import NULL_KEY
from penstock.topology.nodes import TableJoin, TableJoinMerge

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(TableJoin)
class TableJoinColumns(ColumnExecutor[TableJoin]):
    """Joins changes of its side with the rows of the other side as they are at this point."""

    def __init__(self, node: TableJoin, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.versioned:
            raise NotVectorisableError("its table is versioned")
        self._join = SideJoin(node)
        self._other = table_rows(task, node.other)

    def process(self, batch: Batch, effects: Effects) -> None:
        if batch.keys.has_nulls():
            known = batch.keys.are_known()
            effects.drop(self.node.name, NULL_KEY, known.count(False))
            batch = batch.keep(known)
        if not len(batch):
            return
        rows = self._other.read(batch.keys, effects)
        mask = self._join.rule.forwards(
            np.array(batch.values.are_known(), bool), _known(batch.old, len(batch)), rows.are_known
        )
        if not mask.all():
            batch, rows = batch.keep(mask.tolist()), rows.keep(mask)
        if not len(batch):
            return
        new, old = self._join.joined(batch.keys, batch.values, rows), None
        if self.node.sends_old:
            replaced = BatchColumn([None] * len(batch)) if batch.old is None else batch.old
            old = self._join.joined(batch.keys, replaced, rows)
        times = np.maximum(batch.timestamps, rows.times)
        joined = Batch(
            batch.keys, new, times, batch.headers, batch.origins, batch.order, old
        )  # fmt: skip
        self.forward(joined, effects)

    def resources(self) -> set[str]:
        return {f"store {name!r}" for name in self._other.stores}


def _known(column: BatchColumn | None, count: int) -> np.ndarray:
    return np.zeros(count, bool) if column is None else np.array(column.are_known(), bool)


@vectorises(TableJoinMerge)
class TableJoinMergeColumns(StoredTableColumns):
    """Stores the results of both sides, if the join is materialized, and forwards them.

    A result knows the one that it replaces: both were joined with the same row of the other side.
    """

    def process(self, batch: Batch, effects: Effects) -> None:
        if not self.node.sends_old:
            batch = batch.with_columns(batch.keys, batch.values)
        self.send(batch, effects, knows_old=True)
