"""Columns of input, decoded. Record at a time: ``penstock.kernel.source``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.serdes import required_serde
from penstock.kernel.vector.batch import Batch, NotProvenError, Origins, input_column
from penstock.kernel.vector.effects import Effects
from penstock.kernel.vector.step import Step, require_known
from penstock.model.coded_bytes import CodedBytes
from penstock.processor.handlers import LogAndFailExceptionHandler
from penstock.topology.nodes import Source

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


#: Records that are decoded together: what they become fits into a processor's cache, and its
#: memory is used again for the next piece.
_PIECE = 5_000
#: The same for records that are numbers of bytes: those are small, and each piece looks at all of
#: the bytes that are different.
_CODED_PIECE = 100_000


class SourceColumns(Step[Source]):
    """Where columns enter. A record that cannot be decoded sends its batch to the handlers."""

    def __init__(self, node: Source, task: TaskServices) -> None:
        super().__init__(node, task)
        #: Whether a step below wants to know where its records came from.
        self.tells_origins = False
        what = f"source node {node.name!r}"
        self._key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
        self._value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
        require_known(self._key, "key")
        require_known(self._value, "value")
        self._always_fails = isinstance(
            task.failures.on_deserialization, LogAndFailExceptionHandler
        )

    def run(self, raw: RawColumns, effects: Effects, *, may_skip: bool = False) -> None:
        """Takes records through all steps, a piece at a time, and ends them.

        ``may_skip`` says that a record may be left out: its offset is that of its topic, and no
        other input waits for its turn.
        """
        size = _CODED_PIECE if _is_coded(raw) else _PIECE
        for start in range(0, len(raw), size):
            piece = raw.cut(start, start + size)
            try:
                batch = self._decoded(piece)
            except Exception:
                if not may_skip or self._always_fails:
                    raise
                batch = self._decoded(self._readable(piece, effects))
            self.process(batch, effects)
        self.finish(effects)

    def _decoded(self, raw: RawColumns) -> Batch:
        """The batch; raises if a record would be skipped or refused."""
        timestamps = np.asarray(raw.timestamps, np.int64)
        if len(timestamps) and timestamps.min() < 0:
            raise NotProvenError("a record has a negative timestamp")
        keys = input_column(raw.keys, self._key)
        values = keys
        if raw.values is not raw.keys or self._value != self._key:
            values = input_column(raw.values, self._value)
        keys.check()
        values.check()
        return Batch(keys, values, timestamps, raw.headers, self._origins(raw))

    def _origins(self, raw: RawColumns) -> Origins | None:
        if not self.tells_origins:
            return None
        return Origins(raw.topic, raw.partition, np.asarray(raw.offsets, np.int64))

    def _readable(self, raw: RawColumns, effects: Effects) -> RawColumns:
        """The records that can be decoded; the handler is asked about the others."""
        kept = []
        for place, record in enumerate(raw):
            try:
                self._key.deserialize(raw.topic, record[4])
                self._value.deserialize(raw.topic, record[5])
            except Exception as error:  # noqa: BLE001 - any serde; the handler decides
                effects.skip(RawRecord(*record), self._ask(RawRecord(*record), error))
            else:
                kept.append(place)
        return raw.take(kept)

    def _ask(self, record: RawRecord, error: Exception) -> Callable[[], None]:
        return lambda: self.task.failures.deserialization(self.node, record, error)

    def process(self, batch: Batch, effects: Effects) -> None:
        self.forward(batch, effects)

    def below(self) -> Iterator[Step[Any]]:
        """Every step that records of this source reach."""
        waiting: list[Step[Any]] = [self]
        while waiting:
            step = waiting.pop()
            yield step
            waiting.extend(step.children)


def _is_coded(raw: RawColumns) -> bool:
    return isinstance(raw.keys, CodedBytes) and isinstance(raw.values, CodedBytes)
