"""Where a task's output goes: a list in tests, a transactional producer in the Spark runtime."""

from __future__ import annotations

from typing import Protocol

from penstock.model.record import Headers


class Collector(Protocol):
    """Takes encoded records. ``partition`` None lets Kafka's own partitioner decide by key."""

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
        """How many partitions the topic has, for partitioners."""
