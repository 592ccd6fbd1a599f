"""Turns a table's changes into a stream. Record executor: ``to_stream.py``."""

from __future__ import annotations

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.topology.nodes import ToStream


@vectorises(ToStream)
class ToStreamColumns(ColumnExecutor[ToStream]):
    """Forwards the columns unchanged: columns of a table have only the new values of changes."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)
