"""Joins columns with a table. Record executor: ``stream_table_join.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.operators.joins.lookup_columns import LookUpColumns
from penstock.topology.nodes import StreamTableJoin
from penstock.topology.nodes.node import TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(StreamTableJoin)
class StreamTableJoinColumns(LookUpColumns):
    """Joins every record with the table as it is when the record would be processed."""

    def __init__(self, node: StreamTableJoin, task: TaskServices) -> None:
        table = task.node(node.table)
        if not isinstance(table, TableNode) or table.store is None or node.buffer is not None:
            raise NotVectorisableError("the table has no store, or the join has a grace period")
        super().__init__(node, task, table.store)

    def process(self, batch: Batch, effects: Effects) -> None:
        batch = self.valued(batch, effects)
        self.look_up(batch, batch.keys, effects)
