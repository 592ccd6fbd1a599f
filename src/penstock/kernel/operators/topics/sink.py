"""Encodes records for an output topic. Node: ``topology.nodes.topics.sink``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import SerializationError, StreamsError, UnavailableError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.serdes import required_serde
from penstock.model.change import Change
from penstock.model.partitioning import partition_for
from penstock.model.record import Headers, Record, RecordContext
from penstock.model.rules.drop_reasons import NO_PARTITION
from penstock.serde.base import Serde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.topology.nodes import Sink
from penstock.topology.nodes.joins.foreign_key_join import ForeignKeySubscribe
from penstock.topology.titles import is_generated


@executes(Sink)
class SinkExecutor(Executor[Sink]):
    """Encodes records and sends them to the task's collector."""

    def init(self) -> None:
        node, task = self.node, self.task
        what = f"sink node {node.name!r}"
        self._key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
        self._value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
        self._topic = None if node.topic is None else task.topic_name(node.topic)
        self._send = task.collector.send
        if self._topic is not None and node.partitioner is None and self._is_plain():
            self.process = self._plain_process(self._topic)  # type: ignore[method-assign]

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        topic = self._topic or self._extract_topic(key, value, timestamp, headers)
        record = Record(key, value, timestamp, headers)
        partitions = self._partitions(topic, key, value)
        if partitions is not None and not partitions:
            self.task.dropped(self.node.name, NO_PARTITION)
            return
        encoded = self._encode(topic, record)
        if encoded is not None:
            for partition in (None,) if partitions is None else partitions:
                self._send(topic, *encoded, timestamp, headers, partition)

    def _is_plain(self) -> bool:
        if isinstance(self._key, TimeWindowedSerde | SessionWindowedSerde):
            return False
        return all(type(serde).serialize is Serde.serialize for serde in (self._key, self._value))

    def _plain_process(self, topic: str) -> Any:
        encode_key, encode_value, send = self._key.encode, self._value.encode, self._send

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            try:
                key_bytes = None if key is None else encode_key(key)
                value_bytes = None if value is None else encode_value(value)
            except Exception:
                # The slower method finds out whether key or value fails, and asks the handler.
                if self._encode(topic, Record(key, value, timestamp, headers)) is not None:
                    raise
                return
            send(topic, key_bytes, value_bytes, timestamp, headers)

        return process

    def _extract_topic(self, key: Any, value: Any, timestamp: int, headers: Headers) -> str:
        extractor = self.node.topic_extractor
        assert extractor is not None
        at = self.context
        context = RecordContext(timestamp, at.offset, at.partition, at.topic, headers)
        topic = extractor(key, value, context)
        if not isinstance(topic, str):
            raise StreamsError(
                "topic-extractor",
                f"the topic extractor of sink {self.node.name!r} returned {topic!r}",
                "return the name of a topic for every record",
                self.node.site,
            )
        return topic

    def _partitions(self, topic: str, key: Any, value: Any) -> Iterable[int] | None:
        partitioner = self.node.partitioner
        if partitioner is None:
            return self._windowed_partition(topic, key)
        count = self.task.collector.partitions(topic)
        chosen = partitioner(topic, key, value, count)
        if chosen is None:
            return None
        partitions = _numbers(chosen)
        if partitions is None or not all(0 <= each < count for each in partitions):
            raise StreamsError(
                "partitioner",
                f"the partitioner of sink {self.node.name!r} returned {chosen!r}, topic {topic!r}"
                f" has {count} partition{'s' * (count != 1)}",
                f"return numbers from 0 to {count - 1}, or None for the default",
                self.node.site,
            )
        return partitions

    def _windowed_partition(self, topic: str, key: Any) -> Iterable[int] | None:
        """Return the partition of the key without its window: all windows of a key go there."""
        if key is None or not isinstance(self._key, TimeWindowedSerde | SessionWindowedSerde):
            return None
        base = self._key.serialize_base_key(topic, key)
        return (partition_for(base, self.task.collector.partitions(topic)),)

    def _encode(
        self, topic: str, record: Record[Any, Any]
    ) -> tuple[bytes | None, bytes | None] | None:
        parts = (("key", self._key, record.key), ("value", self._value, record.value))
        encoded = []
        for part, serde, item in parts:
            try:
                encoded.append(serde.serialize(topic, item, record.headers))
            except Exception as error:
                # A value of the wrong type is a mistake in the program. The production handler is
                # asked only about mistakes in the data.
                is_type = isinstance(error, TypeError)
                if not is_type and self.task.failures.production(
                    self.node, topic, record, error, part
                ):
                    return None
                if isinstance(error, UnavailableError):
                    raise
                raise self._misfit(topic, part, serde, item, error) from error
        return encoded[0], encoded[1]

    def _called(self) -> str:
        name = self.node.name
        return "the sink" if is_generated(name) else f"sink {name!r}"

    def _misfit(
        self, topic: str, part: str, serde: Serde[Any], item: Any, error: Exception
    ) -> SerializationError:
        if part == "key" and self._writes_foreign_keys:
            return SerializationError(
                "serialization",
                f"the foreign key {_plain(item)!r} does not fit {type(serde).__name__}, which the"
                f" other table has for its keys: {error}",
                "let foreign_key return a key of the other table, or None",
                self.node.site,
            )
        return SerializationError(
            "serialization",
            f"{self._called()} cannot write the {part} {_plain(item)!r} to topic {topic!r}"
            f" with {type(serde).__name__}: {error}",
            f"name the serde of the {part}s in this line: {part}=…"
            if isinstance(error, TypeError)
            else "write a value that the serde takes, or set production.exception.handler",
            self.node.site,
        )

    @property
    def _writes_foreign_keys(self) -> bool:
        parents = map(self.task.node, self.node.parents)
        return any(isinstance(each, ForeignKeySubscribe) for each in parents)


def _numbers(chosen: Iterable[int] | int) -> list[int] | None:
    """Return the chosen partitions in order; ``None`` if they are not numbers."""
    if isinstance(chosen, int):
        return [chosen]
    numbers = set(chosen) if hasattr(chosen, "__iter__") else set()
    are_numbers = all(isinstance(each, int) for each in numbers)
    return sorted(numbers) if are_numbers and hasattr(chosen, "__iter__") else None


def _plain(item: Any) -> Any:
    """Return the user's value: of a table's change the new value, or else the old one."""
    if isinstance(item, Change):
        return item.old if item.new is None else item.new
    return item
