"""Turns records into any number of records. Record at a time: ``penstock.kernel.flat_map``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from penstock.kernel.vector.batch import Batch, Column
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.functions import pairs_of
from penstock.kernel.vector.step import Step, vectorises
from penstock.topology.nodes import FlatMap

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(FlatMap)
class FlatMapColumns(Step[FlatMap]):
    """Repeats times for as many records as the function gives."""

    def __init__(self, node: FlatMap, task: TaskServices) -> None:
        super().__init__(node, task)
        self._pairs = pairs_of(node.fn, "its function")

    def process(self, batch: Batch, effects: Effects) -> None:
        found = [[*pairs] for pairs in self._pairs(batch)]
        rows = np.repeat(np.arange(len(found)), np.fromiter(map(len, found), np.int64, len(found)))
        if not len(rows):
            return
        keys, values = zip(*chain.from_iterable(found), strict=True)
        headers = batch.headers
        if headers is not None:
            headers = [headers[row] for row in rows.tolist()]
        columns = Column(list(keys)), Column(list(values))
        self.forward(Batch(*columns, batch.timestamps[rows], headers), effects)
