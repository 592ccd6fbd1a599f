"""Topics in memory, and the real sandbox over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import penstock as ps
from penstock.config import StreamsConfig
from penstock.runtime.local.journey.sandbox import Pair, Sandbox
from penstock.serving.journey.values import RecordWatch, State, TopicRecord, Trace, Traced


class MemoryJourneys:
    """Runs records of partitions that a test fills; each begins at offset 0."""

    def __init__(self, topology: ps.Topology, config: StreamsConfig) -> None:
        self._sandbox = Sandbox(topology, config)
        self.logs: dict[tuple[str, int], list[TopicRecord]] = {}
        #: What threads have traced since the last question, and the watches that were asked for.
        self.live = Traced()
        self.watches: dict[str, RecordWatch] = {}

    def add(
        self, topic: str, key: bytes | None, value: bytes | None, time: int = 0, partition: int = 0
    ) -> TopicRecord:
        """Append a record, and return it."""
        log = self.logs.setdefault((topic, partition), [])
        record = TopicRecord(
            topic=topic, partition=partition, offset=len(log), timestamp=time, key=key, value=value
        )
        log.append(record)
        return record

    def sources(self) -> Mapping[str, Pair]:
        return self._sandbox.sources()

    def bounds(self, topic: str) -> Mapping[int, tuple[int, int]]:
        return {place[1]: (0, len(log)) for place, log in self.logs.items() if place[0] == topic}

    def read(self, topic: str, partition: int, start: int, end: int) -> Sequence[TopicRecord]:
        return self.logs.get((topic, partition), [])[max(start, 0) : end]

    def run(self, before: Sequence[TopicRecord], record: TopicRecord, state: State) -> Trace:
        return self._sandbox.run(before, record, state)

    def traced(self, watch: RecordWatch) -> Traced:
        """Return what the test has put there, once; note the watch."""
        self.watches[watch.name] = watch
        found, self.live = self.live, Traced()
        return found
