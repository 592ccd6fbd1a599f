"""Writes columns to a topic. Record executor: ``sink.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import Places
from penstock.kernel.columns.change_columns import joined_changes, require_known_values
from penstock.kernel.columns.column_executor import (
    ColumnExecutor,
    NotVectorisableError,
    require_known,
    vectorises,
)
from penstock.kernel.columns.effects import ColumnCollector, Effects
from penstock.kernel.columns.subscriptions import ResponseColumn
from penstock.kernel.serdes import required_serde
from penstock.model.columns.partitioning import partitions_for
from penstock.model.columns.row_columns import taken
from penstock.model.record import Headers
from penstock.model.subscription import to_asking_partition
from penstock.serde.change import ChangeSerde
from penstock.serde.column_serde import Encoded
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.topology.nodes import Sink

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

#: The bytes of a windowed key end in times of eight bytes: the start of its window or, for a
#: session, both its end and its start.
_TIME_BYTES: dict[type, int] = {TimeWindowedSerde: 8, SessionWindowedSerde: 16}
#: Stands for no partition: a record without a key may go to any.
_ANY = -1


@vectorises(Sink)
class SinkColumns(ColumnExecutor[Sink]):
    """Encodes the columns of keys and values, and sends them together."""

    def __init__(self, node: Sink, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.topic is None or node.partitioner not in (None, to_asking_partition):
            raise NotVectorisableError("a function chooses its topic or partition")
        what = f"sink node {node.name!r}"
        self._key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
        self._value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
        require_known(self._key, "key")
        require_known_values(self._value)
        self._topic = task.topic_name(node.topic)
        self._collector = cast("ColumnCollector", task.collector)

    def process(self, batch: Batch, effects: Effects) -> None:
        keys = values = batch.keys.encoded(self._key)
        if isinstance(self._value, ChangeSerde):
            values = joined_changes(batch, self._value)
        elif batch.values is not batch.keys or self._value != self._key:
            values = batch.values.encoded(self._value)
        timestamps, headers = batch.timestamps, batch.headers
        if type(self._key) in _TIME_BYTES:
            effects.add(lambda: self._send_windows(keys, values, timestamps.tolist(), headers))
            return
        if isinstance(batch.values, ResponseColumn) and self.node.partitioner is not None:
            chosen = self._asking(batch.values)
            effects.add(lambda: self._send_to(chosen, keys, values, timestamps.tolist(), headers))
            return
        effects.add(
            lambda: self._collector.send_columns(self._topic, keys, values, timestamps, headers)
        )

    def _send_windows(
        self,
        keys: Encoded,
        values: Encoded,
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> None:
        """Send each windowed key to the partition of the key alone, as the record executor does."""
        count = self.task.collector.partitions(self._topic)
        partitions = partitions_for(keys, count, without=_TIME_BYTES[type(self._key)])
        if None in keys:
            partitions[[key is None for key in keys]] = _ANY
        self._send_to(partitions, keys, values, timestamps, headers)

    def _asking(self, answers: ResponseColumn) -> Places:
        """Return the partitions that have asked; raise if the topic does not have one of them."""
        asking = answers.partitions or [None] * len(answers)
        partitions = np.array([_ANY if each is None else each for each in asking], np.int64)
        if partitions.max() >= self.task.collector.partitions(self._topic):
            raise NotProvenError("a partition that has asked does not exist")
        return partitions

    def _send_to(
        self,
        partitions: Places,
        keys: Encoded,
        values: Encoded,
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> None:
        """Send each record to its own partition."""
        found = np.unique(partitions).tolist()
        where = [None if partition == _ANY else partition for partition in found]
        if len(found) == 1:
            self._collector.send_columns(self._topic, keys, values, timestamps, headers, *where)
            return
        for number, partition in zip(found, where, strict=True):
            places = np.flatnonzero(partitions == number)
            self._collector.send_columns(
                self._topic,
                taken(keys, places),
                taken(values, places),
                taken(timestamps, places),
                None if headers is None else taken(headers, places),
                partition,
            )

    def resources(self) -> set[str]:
        return {f"topic {self._topic!r}"}
