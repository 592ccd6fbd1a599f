"""Runs a query in this process, in batches: record by record, or over columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.nexmark.events import Event
from bench.nexmark.queries import TOPICS, ours, sources
from bench.nexmark.topics import records
from penstock.runtime.local.memory_kafka import MemoryKafka, unbundled
from penstock.runtime.local.outbox import ProducedRecord
from penstock.runtime.local.staged import StagedApplication
from penstock.sql import SqlEngine
from penstock.sql.queries.local import QUERY_CONFIG

_PARTITIONS = 2
#: Each batch reads so many records of every partition at most: there are several batches.
_BATCH = 400


class InProcess:
    """Topics in memory with all events, over which queries run one after the other."""

    def __init__(
        self, events: Sequence[Event], side_input: dict[int, str], *, vectorize: str
    ) -> None:
        self._vectorize = vectorize
        self._kafka = MemoryKafka(_PARTITIONS)
        for topic in TOPICS.values():
            self._kafka.create(topic)
        for topic, key, value, time_ms, partition in records(events, side_input, _PARTITIONS):
            self._kafka.append(topic, key, value, time_ms, partition=partition)
        #: How many batches of tasks ran over columns.
        self.column_batches = 0

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Run the statements of a query and return the rows of its result."""
        return self.rows_of(sources() + ours(name), name)

    def rows_of(self, script: str, name: str) -> list[dict[str, Any]]:
        engine = SqlEngine()
        engine.execute(script)
        for query_id, query in engine.queries.items():
            assert query.plan.sink is not None
            self._kafka.create(query.plan.sink.topic)
            self._run(engine, query_id)
        return engine.pull(f"SELECT * FROM {name};").rows(self._records)

    def _run(self, engine: SqlEngine, query_id: str) -> None:
        settings = {
            **QUERY_CONFIG, "application.id": f"nexmark-{query_id}",
            "statestore.cache.max.bytes": 10_000_000,
            "penstock.vectorize": self._vectorize,
        }  # fmt: skip
        application = StagedApplication(engine.topology(query_id).graph, settings, self._kafka)
        try:
            clock_ms = 1
            while application.has_waiting():
                application.run_batch(clock_ms, at_most=_BATCH)
                clock_ms += 1
            self.column_batches += application.column_batches
        finally:
            application.close()

    def _records(self, topic: str) -> list[ProducedRecord]:
        written = (each for each in self._kafka.committed if each.topic == topic)
        return [
            ProducedRecord(topic, row.key, row.value, row.timestamp, row.headers, row.partition)
            for record in written
            for row in unbundled(record)
        ]
