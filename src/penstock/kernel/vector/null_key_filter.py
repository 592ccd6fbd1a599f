"""Guards the way into a repartition topic. Record at a time: ``kernel.null_key_filter``."""

from __future__ import annotations

from penstock.kernel.vector.batch import Batch
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.nulls import with_keys
from penstock.kernel.vector.step import Step, vectorises
from penstock.topology.nodes import NullKeyFilter


@vectorises(NullKeyFilter)
class NullKeyFilterColumns(Step[NullKeyFilter]):
    """Drops records without a key."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(with_keys(batch, effects, self.node.name), effects)
