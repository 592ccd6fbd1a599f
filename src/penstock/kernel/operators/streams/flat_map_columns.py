"""Turns records into any number of records. Record executor: ``flat_map.py``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, Places
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import flat_of, pairs_of
from penstock.model.user_code import user_code
from penstock.topology.nodes import FlatMap

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(FlatMap)
class FlatMapColumns(ColumnExecutor[FlatMap]):
    """Repeats timestamps and headers for as many records as the function returns."""

    expands = True

    def __init__(self, node: FlatMap, task: TaskServices) -> None:
        super().__init__(node, task)
        self._pairs = pairs_of(node.fn, "its function")
        self._flat = flat_of(node.fn, with_key=True)

    def process(self, batch: Batch, effects: Effects) -> None:
        found = None if self._flat is None else self._flat(batch)
        if found is None:
            self._one_by_one(batch, effects)
        else:
            places, keys, values = found
            self._forward_at(places, batch, BatchColumn(keys), BatchColumn(values), effects)

    def _one_by_one(self, batch: Batch, effects: Effects) -> None:
        given = self._pairs(batch)
        with user_code("a function"):
            found = [[*pairs] for pairs in given]
        rows = np.repeat(np.arange(len(found)), np.fromiter(map(len, found), np.int64, len(found)))
        if not len(rows):
            return
        pairs = [*chain.from_iterable(found)]
        if not {*map(type, pairs)} <= {list, tuple}:
            raise NotProvenError("flat_map returned something other than pairs")
        with user_code("a function"):
            keys, values = zip(*pairs, strict=True)
        self._forward_at(rows, batch, BatchColumn(list(keys)), BatchColumn(list(values)), effects)

    def _forward_at(
        self,
        rows: Places | None,
        batch: Batch,
        keys: BatchColumn,
        values: BatchColumn,
        effects: Effects,
    ) -> None:
        if rows is None:
            self.forward(batch.with_columns(keys, values), effects)
        else:
            self.forward(batch.repeated(keys, values, rows), effects)
