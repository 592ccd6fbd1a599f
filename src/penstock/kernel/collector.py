"""Where a task's output goes: to a list in tests, to a transactional producer on Spark."""

from __future__ import annotations

from typing import Protocol

from penstock.model.record import Headers


class Collector(Protocol):
    """Takes encoded records. If ``partition`` is ``None``, Kafka's partitioner chooses by key."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None: ...

    def partitions(self, topic: str) -> int:
        """Return how many partitions the topic has, for partitioners."""
