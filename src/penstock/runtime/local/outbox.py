"""What a task has sent: kept in order until the driver looks at it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.model.record import Headers


class InputRecord(NamedTuple):
    """A record as it would be read from Kafka; its partition and offset are the driver's."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()


class ProducedRecord(NamedTuple):
    """A record as it would be written to Kafka."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers
    partition: int


class Outbox:
    """Collects sent records; every topic has one partition."""

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

    def partitions(self, topic: str) -> int:
        return 1

    def take(self) -> list[ProducedRecord]:
        """Gives what was sent since the last call, in sending order."""
        sent, self._sent = self._sent, []
        return sent
