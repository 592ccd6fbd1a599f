"""Turns values into any number of values. Record executor: ``flat_map_values.py``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn, Places, TakenColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import flat_of, lists_of
from penstock.kernel.columns.vocabulary import Vocabulary
from penstock.model.user_code import user_code
from penstock.topology.nodes import FlatMapValues

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(FlatMapValues)
class FlatMapValuesColumns(ColumnExecutor[FlatMapValues]):
    """Repeats keys, timestamps and headers for as many values as the function returns."""

    expands = True

    def __init__(self, node: FlatMapValues, task: TaskServices) -> None:
        super().__init__(node, task)
        self._lists = lists_of(node.fn, "its function", with_key=node.with_key)
        self._flat = flat_of(node.fn, with_key=node.with_key)
        self._vocabulary = Vocabulary()

    def process(self, batch: Batch, effects: Effects) -> None:
        found = None if self._flat is None else self._flat(batch)
        if found is None:
            self._one_by_one(batch, effects)
        else:
            places, values = found
            self._forward_at(places, batch, BatchColumn(values), effects)

    def _one_by_one(self, batch: Batch, effects: Effects) -> None:
        found = self._lists(batch)
        if not set(map(type, found)) <= {list, tuple}:
            with user_code("a function"):
                found = [[*values] for values in found]
        counts = np.fromiter(map(len, found), np.int64, len(found))
        rows = np.repeat(np.arange(len(found)), counts)
        lists: Iterable[Iterable[object]] = found
        values = self._vocabulary.column([*chain.from_iterable(lists)])
        self._forward_at(rows, batch, values, effects)

    def _forward_at(
        self, rows: Places | None, batch: Batch, values: BatchColumn, effects: Effects
    ) -> None:
        if rows is None:
            self.forward(batch.with_columns(batch.keys, values), effects)
        else:
            keys = TakenColumn(batch.keys, rows)
            self.forward(batch.repeated(keys, values, rows), effects)

    def finish(self, effects: Effects) -> None:
        self.reset()
        super().finish(effects)

    def reset(self) -> None:
        self._vocabulary = Vocabulary()
