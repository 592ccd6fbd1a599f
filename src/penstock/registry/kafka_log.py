"""The log of a schema registry in a compacted Kafka topic."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from penstock.kafka.admin import Admin
from penstock.kafka.admin_failures import is_transient
from penstock.kafka.clients import new_consumer, new_producer
from penstock.registry.registry_state import LogRecord
from penstock.registry.schemas import RegistryUnavailableError

TOPIC = "_schemas"


class KafkaLog:
    """The log in a compacted topic with one partition, which is created if it is missing.

    Every change is a transaction with the same transactional id. So a change that another
    process has overtaken cannot be committed, and is decided again. No id is assigned twice,
    however many processes share the topic.

    It connects when it is first used. A pickled copy connects again and reads from the start.

    Args:
        settings: librdkafka's, at least ``bootstrap.servers``.
        topic: Confluent's registries use ``_schemas``.
        timeout_s: how long to wait for Kafka before giving up.
    """

    def __init__(
        self, settings: Mapping[str, Any], topic: str = TOPIC, *, timeout_s: float = 30.0
    ) -> None:
        self._settings, self._topic, self._timeout_s = dict(settings), topic, timeout_s
        # The offset up to which the topic has been read. Compaction and transactions leave gaps.
        self._place = 0
        # The offset after our last record: right after a commit, a reader may not see it yet.
        self._written = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return KafkaLog, (self._settings, self._topic)

    @cached_property
    def _consumer(self) -> Consumer:
        Admin(self._settings, timeout_s=self._timeout_s).create_topic(
            self._topic, partitions=1, config={"cleanup.policy": "compact"}
        )
        return new_consumer(
            {
                **self._settings,
                # librdkafka needs a group id. The consumer assigns its partition itself.
                "group.id": f"penstock-registry-{self._topic}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                # The topic is small, so do not wait for more records.
                "fetch.wait.max.ms": 10,
                "isolation.level": "read_committed",
            }
        )

    def change(self, decide: Callable[[], Iterable[LogRecord]]) -> None:
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                return self._change(decide)
            except KafkaException as failure:
                error = failure.args[0]
                was_overtaken = error.fatal() or error.txn_requires_abort() or is_transient(failure)
                if not was_overtaken or time.monotonic() > deadline:
                    raise _unavailable(
                        f"cannot write to topic {self._topic!r}: {error.str()}"
                    ) from None
            # A random pause, so that two processes do not overtake each other again and again.
            time.sleep(random.uniform(0.01, 0.2))

    def _change(self, decide: Callable[[], Iterable[LogRecord]]) -> None:
        producer = self._new_producer()
        producer.init_transactions(self._timeout_s)
        records = list(decide())
        if not records:
            return
        ends: list[int] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                ends.append(int(message.offset() or 0) + 1)

        producer.begin_transaction()
        for key, value in records:
            producer.produce(self._topic, value, key, partition=0, on_delivery=delivered)
        producer.commit_transaction(self._timeout_s)
        self._written = max(ends, default=0)
        # The commit returns before all readers can see the records: wait until they can.
        deadline = time.monotonic() + self._timeout_s
        while self._visible_end(deadline) < self._written and time.monotonic() < deadline:
            time.sleep(0.01)

    def _new_producer(self) -> Producer:
        name = f"penstock-registry-{self._topic}"
        return new_producer({**self._settings, "acks": "all", "transactional.id": name})

    def news(self) -> Iterator[LogRecord]:
        deadline = time.monotonic() + self._timeout_s
        end = max(self._visible_end(deadline), self._written)
        if self._place >= end:
            return
        self._consumer.assign([TopicPartition(self._topic, 0, self._place or OFFSET_BEGINNING)])
        try:
            yield from self._read_to(end, deadline)
        finally:
            # Fetch nothing until the next call.
            self._consumer.unassign()

    def _read_to(self, end: int, deadline: float) -> Iterator[LogRecord]:
        while self._place < end:
            message = self._consumer.poll(0.5)
            if time.monotonic() > deadline:
                raise _unavailable(f"cannot read topic {self._topic!r} to its end")
            if message is None:
                continue
            error, key = message.error(), message.key()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise _unavailable(f"cannot read topic {self._topic!r}: {error.str()}")
            is_end = error is not None
            self._place = max(self._place, int(message.offset() or 0) + (not is_end))
            if not is_end and key is not None:
                yield key, message.value()

    def _visible_end(self, deadline: float) -> int:
        """Return the end of the committed records; wait for a leader if the topic is new."""
        partition = TopicPartition(self._topic, 0)
        while True:
            try:
                _, end = self._consumer.get_watermark_offsets(partition, timeout=self._timeout_s)
                return int(end)
            except KafkaException as failure:
                if not is_transient(failure) or time.monotonic() > deadline:
                    reason = failure.args[0].str()
                    raise _unavailable(f"cannot read topic {self._topic!r}: {reason}") from None
            time.sleep(0.1)

    def close(self) -> None:
        consumer = vars(self).pop("_consumer", None)
        if consumer is not None:
            consumer.close()
        self._place = self._written = 0


def _unavailable(message: str) -> RegistryUnavailableError:
    fix = "check that the broker runs"
    return RegistryUnavailableError("registry-unavailable", message, fix=fix)
