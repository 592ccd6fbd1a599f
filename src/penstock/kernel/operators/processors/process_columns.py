"""Runs processors over columns, if they say how. Record executor: ``process.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import (
    ColumnExecutor,
    NotVectorisableError,
    vectorises,
)
from penstock.kernel.columns.effects import Effects
from penstock.processor.supplier import ColumnSupplier
from penstock.topology.nodes.processors.process import Process

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Process)
class ProcessColumns(ColumnExecutor[Process]):
    """Puts the column that a ``ColumnSupplier`` makes of a batch in the values' place.

    Processors of any other supplier see their records one by one.
    """

    def __init__(self, node: Process, task: TaskServices) -> None:
        super().__init__(node, task)
        supplier = node.supplier
        if not isinstance(supplier, ColumnSupplier) or not node.fixed_key or node.stores:
            raise NotVectorisableError("a processor may do anything")
        self._supplier = supplier
        self.reads_origins = supplier.reads_origins

    def process(self, batch: Batch, effects: Effects) -> None:
        values = self._supplier.over_columns(batch)
        if values is None:
            raise NotProvenError("its processor has to see a record of the batch alone")
        self.forward(batch.with_columns(batch.keys, BatchColumn(values)), effects)
