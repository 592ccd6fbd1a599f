"""Columns of input, decoded. Record at a time: ``penstock.kernel.source``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.serdes import required_serde
from penstock.kernel.vector.batch import Batch, NotProvenError, input_column
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.step import Step, require_known
from penstock.topology.nodes import Source

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


#: Records that are decoded together: what they become fits into a processor's cache, and its
#: memory is used again for the next piece.
_PIECE = 5_000


class SourceColumns(Step[Source]):
    """Where columns enter. A record that cannot be decoded sends its batch to the handlers."""

    def __init__(self, node: Source, task: TaskServices) -> None:
        super().__init__(node, task)
        what = f"source node {node.name!r}"
        self._key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
        self._value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
        require_known(self._key, "key")
        require_known(self._value, "value")

    def decoded(self, raw: RawColumns) -> Batch:
        """The batch; raises if a record would be skipped or refused."""
        timestamps = np.array(raw.timestamps, np.int64)
        if len(timestamps) and timestamps.min() < 0:
            raise NotProvenError("a record has a negative timestamp")
        keys = input_column(raw.keys, self._key)
        values = keys
        if raw.values is not raw.keys or self._value != self._key:
            values = input_column(raw.values, self._value)
        keys.check()
        values.check()
        return Batch(keys, values, timestamps, raw.headers)

    def run(self, raw: RawColumns, effects: Effects) -> None:
        """Takes records through all steps, a piece at a time, and ends them."""
        for start in range(0, len(raw), _PIECE):
            self.process(self.decoded(raw.cut(start, start + _PIECE)), effects)
        self.finish(effects)

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)

    def below(self) -> Iterator[Step[Any]]:
        """Every step that records of this source reach."""
        waiting: list[Step[Any]] = [self]
        while waiting:
            step = waiting.pop()
            yield step
            waiting.extend(step.children)
