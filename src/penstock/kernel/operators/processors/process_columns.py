"""Runs processors over columns, if they say how. Record at a time: ``process.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch, Column, NotProvenError
from penstock.kernel.columns.column_executor import (
    ColumnExecutor,
    NotVectorisableError,
    no_form,
    vectorises,
)
from penstock.kernel.columns.effects import Effects
from penstock.model.pure import column_form
from penstock.model.user_code import user_code
from penstock.topology.nodes.processors.process import Process

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Process)
class ProcessColumns(ColumnExecutor[Process]):
    """Puts the column that the supplier's ``over_columns`` makes of a batch in the values' place.

    Only a processor that forwards each record once, with its key, can have such a form. A supplier
    without one gives processors that see their records one by one.
    """

    def __init__(self, node: Process, task: TaskServices) -> None:
        super().__init__(node, task)
        form = column_form(node.supplier)
        if form is None or not node.fixed_key or node.stores:
            raise NotVectorisableError(no_form(node))
        self._form = form
        self.reads_origins = bool(getattr(node.supplier, "reads_origins", False))

    def process(self, batch: Batch, effects: Effects) -> None:
        with user_code("a processor"):
            values = self._form(batch)
        if values is None:
            raise NotProvenError("its processor has to see a record of the batch alone")
        self.forward(batch.with_columns(batch.keys, Column(values)), effects)
