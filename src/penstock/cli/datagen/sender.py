"""Rows to a topic: encoded in one of SQL's formats, at a given rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.cli.datagen.row_plan import GeneratedColumn, RowPlan
from penstock.formats.rows import RowSerde, serde_for
from penstock.kafka.admin_failures import explained
from penstock.registry.registry import SchemaRegistry


class RowEncoder:
    """Encode rows as the key and the value of records."""

    def __init__(
        self,
        plan: RowPlan,
        key_format: str,
        value_format: str,
        registry: SchemaRegistry | None = None,
    ) -> None:
        self._plan = plan
        self._key_columns = plan.key_columns
        self._value_columns = plan.value_columns
        self._key = self._serde(key_format, self._key_columns, registry, is_key=True)
        self._value = self._serde(value_format, self._value_columns, registry, is_key=False)

    def _serde(
        self,
        name: str,
        columns: tuple[GeneratedColumn, ...],
        registry: SchemaRegistry | None,
        *,
        is_key: bool,
    ) -> RowSerde:
        return serde_for(name, columns, is_key=is_key, topic=self._plan.topic, registry=registry)

    def encode(self, row: dict[str, Any]) -> tuple[bytes | None, bytes | None]:
        """Return the bytes of key and value."""
        topic = self._plan.topic
        key = tuple(row[column.name] for column in self._key_columns)
        value = tuple(row[column.name] for column in self._value_columns)
        return self._key.serialize(topic, key), self._value.serialize(topic, value)


def paced(
    iterations: int | None,
    rate: float | None,
    start_ms: int | None = None,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[int]:
    """Yield the time of each row when the row is due.

    With ``start_ms`` the times are those of a simulated clock that starts there and advances by the
    rate, so that another run has the same times. Otherwise they are the present time.
    """
    begun = clock()
    gap_s = 1 / rate if rate else 0.0
    number = 0
    while iterations is None or number < iterations:
        wait = begun + number * gap_s - clock()
        if gap_s and wait > 0:
            sleep(wait)
        if start_ms is None:
            yield int(clock() * 1000)
        else:
            yield start_ms + round(number * (gap_s or 0.001) * 1000)
        number += 1


class RowSender:
    """Send rows with one producer, and count what Kafka has accepted."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self._failure: KafkaError | None = None
        self.written = 0

    def send(self, key: bytes | None, value: bytes | None, time_ms: int) -> None:
        """Hand one record to the producer.

        Raises:
            KafkaRequestError: an earlier record was refused.
        """
        self._check()
        while True:
            try:
                self._producer.produce(
                    self._topic, value, key, timestamp=time_ms, on_delivery=self._delivered
                )
            except BufferError:
                self._producer.poll(0.1)
            else:
                break
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until all records are written."""
        self._producer.flush()
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise explained(
                KafkaException(self._failure), f"write to {self._topic!r}", "the cluster"
            )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failure = error
        else:
            self.written += 1
