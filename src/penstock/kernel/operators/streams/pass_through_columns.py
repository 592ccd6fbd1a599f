"""Forwards columns unchanged. Record executor: ``pass_through.py``."""

from __future__ import annotations

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.topology.nodes import PassThrough


@vectorises(PassThrough)
class PassThroughColumns(ColumnExecutor[PassThrough]):
    """Forwards the columns unchanged."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)
