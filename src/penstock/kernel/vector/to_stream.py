"""Turns a table's changes into a stream. Record at a time: ``penstock.kernel.to_stream``."""

from __future__ import annotations

from penstock.kernel.vector.batch import Batch
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.step import Step, vectorises
from penstock.topology.nodes import ToStream


@vectorises(ToStream)
class ToStreamColumns(Step[ToStream]):
    """Hands the columns on: column forms of tables give the new values of their changes."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)
