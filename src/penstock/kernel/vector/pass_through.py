"""Hands columns on. Record at a time: ``penstock.kernel.pass_through``."""

from __future__ import annotations

from penstock.kernel.vector.batch import Batch
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.step import Step, vectorises
from penstock.topology.nodes import PassThrough


@vectorises(PassThrough)
class PassThroughColumns(Step[PassThrough]):
    """Hands the columns on."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)
