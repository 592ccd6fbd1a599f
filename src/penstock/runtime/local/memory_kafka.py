"""Topics in memory, with offsets and transactions as in Kafka."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError

from penstock.kafka.admin_answers import PartitionState, Topic
from penstock.kernel.raw_columns import listed
from penstock.kernel.record_queue import RawRecord
from penstock.model.partitioning import partition_for
from penstock.model.record import Headers
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.bundles import BUNDLE_HEADER, decode_headers, unpacked


class MemoryKafka:
    """Hold every committed record, by partition and in the order of the commits.

    As in Kafka, the marker at the end of a transaction takes an offset in each partition that it
    wrote to, and an aborted record keeps its offset. Both are None here, and no reader sees them.
    """

    def __init__(self, partitions: int = 1) -> None:
        self.partitions = partitions
        self.logs: dict[str, list[list[RawRecord | None]]] = {}
        self.committed: list[RawRecord] = []
        self.group: dict[TopicPartition, int] = {}
        self.commits = 0
        #: The generation and the run that the batch log names as the current ones.
        self.generation = 1, "staged"
        #: Called with the number of each commit; returns whether the commit fails "before" its
        #: records are visible, "after" they are, or not at all (None).
        self.fault: Callable[[int], str | None] = lambda number: None
        #: Called with topic, key, value and timestamp; returns the error with which the record is
        #: refused, or None.
        self.refusal: Callable[..., KafkaError | None] = lambda *record: None
        self._epochs: Counter[int] = Counter()

    def create(self, topic: str, partitions: int | None = None) -> None:
        """Create a topic, unless it exists."""
        if topic not in self.logs:
            self.logs[topic] = [[] for _ in range(partitions or self.partitions)]

    def partitions_of(self, topic: str) -> int:
        """Return how many partitions a topic has. A topic that does not exist is created."""
        self.create(topic)
        return len(self.logs[topic])

    def topics(self) -> dict[str, Topic]:
        return {
            name: Topic(name, tuple(PartitionState(n, 0, (0,), (0,)) for n in range(len(log))))
            for name, log in self.logs.items()
        }

    def append(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
        partition: int | None = None,
    ) -> int:
        """Add a committed record and return its offset."""
        count = self.partitions_of(topic)
        if partition is None:
            partition = 0 if key is None else partition_for(key, count)
        log = self.logs[topic][partition]
        record = RawRecord(topic, partition, len(log), timestamp, key, value, tuple(headers))
        log.append(record)
        self.committed.append(record)
        return record.offset

    def ends(self, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
        """Return the next offset of every partition of topics with these partition counts."""
        return {
            (topic, number): len(self.logs[topic][number])
            for topic, count in topics.items()
            for number in range(count)
        }

    def batch_log(self, topic: str) -> LogState:
        """Return the state of a batch log, from all its records."""
        state = LogState()
        for record in self.logs.get(topic, [[]])[0]:
            if record is not None:
                state.apply((record.key or b"").decode(), record.value)
        state.generation, state.run_id = self.generation
        return state

    def new_epoch(self, slot: int) -> int:
        """Return the epoch of a new writer of a slot, and fence every older writer."""
        self._epochs[slot] += 1
        return self._epochs[slot]

    def is_fenced(self, slot: int, epoch: int) -> bool:
        """Return whether the slot has a newer writer than the one of this epoch."""
        return self._epochs[slot] != epoch


def unbundled(record: RawRecord) -> list[RawRecord]:
    """Return the records of a bundle, or a list of the record itself if it is not a bundle."""
    if not any(name == BUNDLE_HEADER for name, _ in record.headers):
        return [record]
    bundle = unpacked(record.value or b"")
    headers = bundle.headers or [None] * len(bundle)
    rows = zip(listed(bundle.timestamps), bundle.keys, bundle.values, headers, strict=True)
    return [
        record._replace(timestamp=at, key=key, value=value, headers=decode_headers(encoded))
        for at, key, value, encoded in rows
    ]
