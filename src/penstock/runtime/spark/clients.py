"""The Kafka clients of a slot, behind small protocols; tests hand it others, in memory."""

from __future__ import annotations

from typing import Protocol

from confluent_kafka import Consumer, TopicPartition

from penstock.kafka.clients import new_consumer
from penstock.runtime.spark.batch_log import LogState, read_log
from penstock.runtime.spark.orders import Application
from penstock.runtime.spark.output import KafkaWriter, Writer
from penstock.runtime.spark.reader import RangeReader, Reader


class Clients(Protocol):
    """What a slot asks for when it first needs it; it closes its readers itself."""

    def writer(self, slot: int) -> Writer:
        """A writer for a slot; making one fences every older writer of that slot."""

    def reader(self) -> Reader:
        """A reader of source topics."""

    def restorer(self) -> Reader:
        """A reader of changelogs and global topics, which are read from where they begin."""

    def watermarks(self, topic: str, partition: int) -> tuple[int, int]:
        """The first and the next offset of a topic partition that a committed read can see."""

    def batch_log(self) -> LogState:
        """What the application's batch log says now."""

    def close(self) -> None: ...


class KafkaClients:
    """Real ones, with the application's settings."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._marks: Consumer | None = None

    def writer(self, slot: int) -> Writer:
        application = self._application
        name = f"{application.id}-slot-{slot}" if application.exactly_once else None
        return KafkaWriter(application.producer, name)

    def reader(self) -> Reader:
        return RangeReader(self._application.consumer)

    def restorer(self) -> Reader:
        return RangeReader({**self._application.consumer, "auto.offset.reset": "earliest"})

    def watermarks(self, topic: str, partition: int) -> tuple[int, int]:
        if self._marks is None:
            self._marks = new_consumer(self._application.consumer)
        low, high = self._marks.get_watermark_offsets(TopicPartition(topic, partition), 30.0)
        return low, high

    def batch_log(self) -> LogState:
        return read_log(self._application.batches_topic, self._application.consumer)

    def close(self) -> None:
        if self._marks is not None:
            self._marks.close()
            self._marks = None
