"""The log of a schema registry in a compacted Kafka topic."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from penstock.kafka.admin import Admin
from penstock.kafka.admin_failures import is_transient
from penstock.kafka.clients import new_consumer, new_producer
from penstock.sql.formats.registry_state import LogRecord
from penstock.sql.formats.schemas import RegistryError

TOPIC = "_schemas"


class KafkaLog:
    """The log in a compacted topic with one partition, which is made if it is not there.

    Connects when it is first used; a pickled copy connects anew and reads from the beginning.

    Args:
        settings: librdkafka's, at least ``bootstrap.servers``.
        topic: Confluent's registries use ``_schemas``.
        timeout_s: how long to wait for Kafka before giving up.
    """

    def __init__(
        self, settings: Mapping[str, Any], topic: str = TOPIC, *, timeout_s: float = 30.0
    ) -> None:
        self._settings, self._topic, self._timeout_s = dict(settings), topic, timeout_s
        self._place = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return KafkaLog, (self._settings, self._topic)

    @cached_property
    def _producer(self) -> Producer:
        return new_producer({**self._settings, "acks": "all", "enable.idempotence": True})

    @cached_property
    def _consumer(self) -> Consumer:
        Admin(self._settings, timeout_s=self._timeout_s).create_topic(
            self._topic, partitions=1, config={"cleanup.policy": "compact"}
        )
        consumer = new_consumer(
            {
                **self._settings,
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
        end = self._end(partition, deadline)
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

    def _end(self, partition: TopicPartition, deadline: float) -> int:
        """Gives the log's end; a topic that was just made may have no leader for a moment."""
        while True:
            try:
                _, end = self._consumer.get_watermark_offsets(partition, timeout=self._timeout_s)
                return int(end)
            except KafkaException as failure:
                if not is_transient(failure) or time.monotonic() > deadline:
                    reason = failure.args[0].str()
                    raise _unavailable(f"cannot read topic {self._topic!r}: {reason}") from None
            time.sleep(0.1)

    def _position(self, partition: TopicPartition) -> int:
        # What compaction removed leaves holes, which only the consumer's own position passes.
        (found,) = self._consumer.position([partition])
        return max(found.offset, self._place)

    def close(self) -> None:
        consumer = vars(self).pop("_consumer", None)
        if consumer is not None:
            consumer.close()
        self._place = 0


def _unavailable(message: str) -> RegistryError:
    return RegistryError("registry-unavailable", message, fix="check that the broker runs")
