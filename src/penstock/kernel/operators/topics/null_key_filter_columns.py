"""Drops records without a key. Record executor: ``null_key_filter.py``."""

from __future__ import annotations

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.nulls import taken_by
from penstock.model.rules.table_rule import REPARTITION_NULLS
from penstock.topology.nodes import NullKeyFilter


@vectorises(NullKeyFilter)
class NullKeyFilterColumns(ColumnExecutor[NullKeyFilter]):
    """Drops records without a key."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(taken_by(REPARTITION_NULLS, batch, effects, self.node.name), effects)
