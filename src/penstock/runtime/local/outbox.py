"""The records that a task has sent, kept in order until the application takes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from penstock.kernel.raw_columns import Timestamps, listed
from penstock.model.record import Headers


class InputRecord(NamedTuple):
    """A record as it would be read from Kafka; the application assigns its offset.

    If ``partition`` is None, the key determines the partition, as in a producer.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()
    partition: int | None = None


class ProducedRecord(NamedTuple):
    """A record as it would be written to Kafka."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers
    partition: int


class Outbox:
    """Collect sent records; every topic has one partition."""

    def __init__(self) -> None:
        self._sent: list[ProducedRecord] = []

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        self._sent.append(ProducedRecord(topic, key, value, timestamp, headers, partition or 0))

    def send_columns(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Timestamps,
        headers: Sequence[Headers] | None,
        partition: int | None = None,
    ) -> None:
        rows = zip(
            keys, values, listed(timestamps), repeat(()) if headers is None else headers,
            strict=False,
        )  # fmt: skip
        for key, value, timestamp, each in rows:
            self.send(topic, key, value, timestamp, each, partition)

    def partitions(self, topic: str) -> int:
        return 1

    def take(self) -> list[ProducedRecord]:
        """Return the records that were sent since the last call, in order."""
        sent, self._sent = self._sent, []
        return sent
