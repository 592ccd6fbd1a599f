"""Writes columns to a topic. Record at a time: ``penstock.kernel.sink``."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from penstock.kernel.serdes import required_serde
from penstock.kernel.vector.batch import Batch
from penstock.kernel.vector.effects import ColumnCollector, Effects
from penstock.kernel.vector.step import NotVectorisableError, Step, require_known, vectorises
from penstock.topology.nodes import Sink

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(Sink)
class SinkColumns(Step[Sink]):
    """Encodes both columns and sends them together."""

    def __init__(self, node: Sink, task: TaskServices) -> None:
        super().__init__(node, task)
        if node.topic is None or node.partitioner is not None:
            raise NotVectorisableError("a function chooses its topic or partition")
        what = f"sink node {node.name!r}"
        self._key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
        self._value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
        require_known(self._key, "key")
        require_known(self._value, "value")
        self._topic = task.topic_name(node.topic)
        self._collector = cast("ColumnCollector", task.collector)

    def process(self, batch: Batch, effects: Effects) -> None:
        keys = values = batch.keys.encoded(self._key)
        if batch.values is not batch.keys or self._value != self._key:
            values = batch.values.encoded(self._value)
        timestamps, headers = batch.timestamps.tolist(), batch.headers
        effects.add(
            lambda: self._collector.send_columns(self._topic, keys, values, timestamps, headers)
        )

    def resources(self) -> set[str]:
        return {f"topic {self._topic!r}"}
