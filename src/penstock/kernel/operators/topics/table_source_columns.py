"""Turns columns into a table. Record executor: ``table_source.py``."""

from __future__ import annotations

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.nulls import taken_by
from penstock.kernel.operators.tables.derived_columns import StoredTableColumns
from penstock.model.rules.table_rule import TABLE_NULLS
from penstock.topology.nodes import TableSource


@vectorises(TableSource)
class TableSourceColumns(StoredTableColumns):
    """Stores the last record of each key in the batch as its row, and sends changes."""

    def process(self, batch: Batch, effects: Effects) -> None:
        self.send(taken_by(TABLE_NULLS, batch, effects, self.node.name), effects)
