"""Forwards columns unchanged. Record executor: ``pass_through.py``."""

from __future__ import annotations

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.topology.nodes import PassThrough, TablePassThrough


@vectorises(PassThrough)
class PassThroughColumns(ColumnExecutor[PassThrough]):
    """Forwards the columns unchanged."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)


@vectorises(TablePassThrough)
class TablePassThroughColumns(ColumnExecutor[TablePassThrough]):
    """Does the same for changes of a table; the aggregations before it have the store."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)
