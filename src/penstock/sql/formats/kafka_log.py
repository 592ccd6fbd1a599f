"""The log of a schema registry in a compacted Kafka topic."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from penstock.kafka.admin import Admin
from penstock.kafka.clients import new_consumer, new_producer
from penstock.sql.formats.registry_state import LogRecord
from penstock.sql.formats.schemas import RegistryError

TOPIC = "_schemas"


class KafkaLog:
    """The log in a compacted topic with one partition, which is made if it is not there.

    Args:
        settings: librdkafka's, at least ``bootstrap.servers``.
        topic: Confluent's registries use ``_schemas``.
        timeout_s: how long to wait for Kafka before giving up.
    """

    def __init__(
        self, settings: Mapping[str, Any], topic: str = TOPIC, *, timeout_s: float = 30.0
    ) -> None:
        self._topic, self._timeout_s = topic, timeout_s
        Admin(settings, timeout_s=timeout_s).create_topic(
            topic, partitions=1, config={"cleanup.policy": "compact"}
        )
        self._producer = new_producer({**settings, "acks": "all", "enable.idempotence": True})
        self._consumer = self._new_consumer(settings)
        self._place = 0

    def _new_consumer(self, settings: Mapping[str, Any]) -> Consumer:
        consumer = new_consumer(
            {
                **settings,
                # librdkafka wants a group; nobody joins it.
                "group.id": f"penstock-registry-{self._topic}",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition(self._topic, 0, OFFSET_BEGINNING)])
        return consumer

    def append(self, records: Iterable[LogRecord]) -> None:
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                failed.append(error)

        for key, value in records:
            self._producer.produce(self._topic, value, key, partition=0, on_delivery=delivered)
        left = self._producer.flush(self._timeout_s)
        if failed or left:
            reason = failed[0].str() if failed else "Kafka does not answer"
            raise _unavailable(f"cannot write to topic {self._topic!r}: {reason}")

    def news(self) -> Iterator[LogRecord]:
        deadline = time.monotonic() + self._timeout_s
        partition = TopicPartition(self._topic, 0)
        _, end = self._consumer.get_watermark_offsets(partition, timeout=self._timeout_s)
        while self._position(partition) < end:
            message = self._consumer.poll(0.5)
            if time.monotonic() > deadline:
                raise _unavailable(f"cannot read topic {self._topic!r} to its end")
            if message is None:
                continue
            error, key = message.error(), message.key()
            if error is not None:
                raise _unavailable(f"cannot read topic {self._topic!r}: {error.str()}")
            self._place = int(message.offset() or 0) + 1
            if key is not None:
                yield key, message.value()

    def _position(self, partition: TopicPartition) -> int:
        # What compaction removed leaves holes, which only the consumer's own position passes.
        (found,) = self._consumer.position([partition])
        return max(found.offset, self._place)

    def close(self) -> None:
        self._consumer.close()


def _unavailable(message: str) -> RegistryError:
    return RegistryError("registry-unavailable", message, fix="check that the broker runs")
