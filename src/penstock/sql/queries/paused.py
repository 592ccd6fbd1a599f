"""Keeps the ids of paused queries in Kafka, so that PAUSE outlives the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.runtime.local.outbox import ProducedRecord

_PAUSED = b"PAUSED"


def paused_topic(service_id: str) -> str:
    """Return the compacted topic that has the id of every paused query of a service."""
    return f"_confluent-ksql-{service_id}paused_queries"


class PausedQueries:
    """The paused queries of one service, in a topic whose keys are ids of queries.

    One topic serves all queries: a query that has never run has no batch log to keep this in, and
    pausing it before its first start must work as well.
    """

    def __init__(
        self,
        topic: str,
        admin: Admin,
        producer: Any,
        read: Callable[[str], Iterable[ProducedRecord]],
    ) -> None:
        self._topic = topic
        self._admin = admin
        self._producer = producer
        self._read = read
        self._kept: set[str] = set()

    def load(self) -> set[str]:
        """Read the ids of all paused queries; none if nothing was ever paused."""
        self._kept = set()
        if self._topic in self._admin.topics():
            for record in self._read(self._topic):
                query_id = (record.key or b"").decode()
                if record.value is None:
                    self._kept.discard(query_id)
                else:
                    self._kept.add(query_id)
        return set(self._kept)

    def keep(self, paused: set[str]) -> None:
        """Write the changes since the last call."""
        changes = paused ^ self._kept
        if not changes:
            return
        if self._topic not in self._admin.topics():
            config = {"cleanup.policy": "compact"}
            self._admin.create_topics([TopicSpec(self._topic, partitions=1, config=config)])
        for query_id in sorted(changes):
            value = _PAUSED if query_id in paused else None
            self._producer.produce(self._topic, value, query_id.encode(), partition=0)
        self._producer.flush()
        self._kept = set(paused)
