"""Keep every record of the inputs as it is written, because operators delete them later."""

from __future__ import annotations

import threading
from collections import defaultdict

from confluent_kafka import Consumer, TopicPartition

from tests.cluster.expected import LogRecord


class Recorder(threading.Thread):
    """Reads partitions from their beginning with the isolation that the application has."""

    def __init__(self, bootstrap: str, parts: list[tuple[str, int]], isolation: str) -> None:
        super().__init__(name="ordinary-recorder", daemon=True)
        self._parts = parts
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
        self.records: dict[str, list[LogRecord]] = defaultdict(list)
        #: The next offset of each partition.
        self.position: dict[tuple[str, int], int] = dict.fromkeys(parts, 0)

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
                self.records[topic].append(record)
                self.position[topic, partition] = offset + 1
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()
