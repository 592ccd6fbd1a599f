"""Keep every record of the inputs as it is written, because operators delete them later."""

from __future__ import annotations

import threading
import time
from collections import defaultdict

from confluent_kafka import Consumer, TopicPartition

from tests.cluster.expected import LogRecord

Place = tuple[str, int]
#: Kafka answers at least so often, even if it has no record.
_PATIENCE_S = 60.0


class Recorder(threading.Thread):
    """Reads partitions from their beginning with the isolation that the application has."""

    def __init__(self, bootstrap: str, parts: list[Place], isolation: str) -> None:
        super().__init__(name="ordinary-recorder", daemon=True)
        self._stopping = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "ordinary-recorder",
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(*each, 0) for each in parts])
        #: Each partition's records in the order of its log, with their offsets.
        self.records: dict[Place, list[tuple[int, LogRecord]]] = defaultdict(list)
        #: The next offset of each partition.
        self.position: dict[Place, int] = dict.fromkeys(parts, 0)

    def run(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(5_000, 0.2):
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                if message.error() is not None or topic is None:
                    continue
                assert partition is not None
                assert offset is not None
                at = message.timestamp()[1]
                record = LogRecord(partition, at, message.key() or b"", message.value())
                self.records[topic, partition].append((offset, record))
                self.position[topic, partition] = offset + 1
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def offsets_in_log(bootstrap: str, place: Place, first: int, end: int) -> set[int]:
    """Return the offsets of the records that a partition has from one offset to another."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "ordinary-observer",
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(*place, first)])
    found: set[int] = set()
    heard_s = time.monotonic()
    try:
        while time.monotonic() < heard_s + _PATIENCE_S:
            for message in consumer.consume(1_000, 0.2):
                heard_s, offset = time.monotonic(), message.offset()
                # The end of the partition is told as an error.
                if message.error() is not None or offset is None or offset >= end:
                    return found
                found.add(offset)
    finally:
        consumer.close()
    raise AssertionError(f"{place} cannot be read from offset {first} to {end}")
