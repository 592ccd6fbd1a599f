"""Replaces keys and values of columns. Record executor: ``map.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import flat_of, pairs_of
from penstock.model.user_code import user_code
from penstock.topology.nodes import Map

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Map)
class MapColumns(ColumnExecutor[Map]):
    """Forwards new columns of keys and values."""

    def __init__(self, node: Map, task: TaskServices) -> None:
        super().__init__(node, task)
        self._pairs = pairs_of(node.fn, "its function")
        self._columns = flat_of(node.fn, with_key=True)

    def process(self, batch: Batch, effects: Effects) -> None:
        found = None if self._columns is None else self._columns(batch)
        if found is None:
            pairs = self._pairs(batch)
            if not {*map(type, pairs)} <= {list, tuple}:
                raise NotProvenError("map returned something other than pairs")
            with user_code("a function"):
                keys, values = zip(*pairs, strict=True)
            found = list(keys), list(values)
        self.forward(batch.with_columns(BatchColumn(found[0]), BatchColumn(found[1])), effects)
