"""The Kafka clients of a slot, behind small protocols; tests hand it others, in memory."""

from __future__ import annotations

import time
from typing import Protocol

from confluent_kafka import Consumer, TopicPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_consumer
from penstock.runtime.spark.exchange.batch_log import LogState, read_log
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.worker.reader import RangeReader, Reader
from penstock.runtime.spark.worker.writer import KafkaWriter, Writer

_ANSWER_S = 30.0


class Clients(Protocol):
    """What a slot asks for when it first needs it; it closes its readers itself."""

    def writer(self, slot: int, *, one_by_one: bool = False) -> Writer:
        """A writer for a slot; making one fences every older writer of that slot.

        Args:
            one_by_one: sends every record alone, so that none is refused for its neighbours.
        """

    def reader(self) -> Reader:
        """A reader of source topics."""

    def restorer(self) -> Reader:
        """A reader of changelogs."""

    def global_reader(self) -> Reader:
        """A reader of the topics of global tables."""

    def watermarks(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        """The first and the next offset of a topic partition that a committed read can see.

        In a topic of the application's own nothing may be undecided: what its last commit wrote
        must be seen.
        """

    def batch_log(self) -> LogState:
        """What the application's batch log says now."""

    def close(self) -> None: ...


class KafkaClients:
    """Real ones, with the application's settings."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._marks: Consumer | None = None
        self._undecided: Consumer | None = None

    def writer(self, slot: int, *, one_by_one: bool = False) -> Writer:
        application = self._application
        name = f"{application.id}-slot-{slot}" if application.exactly_once else None
        alone = {"batch.num.messages": 1} if one_by_one else {}
        return KafkaWriter({**application.producer, **alone}, name)

    def reader(self) -> Reader:
        return RangeReader(self._application.consumer)

    def restorer(self) -> Reader:
        return RangeReader(self._application.restore_consumer)

    def global_reader(self) -> Reader:
        return RangeReader(self._application.global_consumer)

    def watermarks(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        if self._marks is None or self._undecided is None:
            settings = self._application.consumer
            self._marks = new_consumer(settings)
            self._undecided = new_consumer({**settings, "isolation.level": "read_uncommitted"})
        part = TopicPartition(topic, partition)
        low, high = self._marks.get_watermark_offsets(part, _ANSWER_S)
        if not is_own:
            return low, high
        # A commit returns before the broker has marked its records as committed.
        _, all_written = self._undecided.get_watermark_offsets(part, _ANSWER_S)
        deadline = time.monotonic() + _ANSWER_S
        while high < all_written:
            if time.monotonic() > deadline:
                raise StreamsError(
                    "open-transaction",
                    f"a transaction on {topic!r} partition {partition} has been open for"
                    f" {_ANSWER_S:.0f} s",
                    fix="look for another program that writes to this internal topic;"
                    " the batch runs again after a restart",
                )
            time.sleep(0.02)
            _, high = self._marks.get_watermark_offsets(part, _ANSWER_S)
        return low, high

    def batch_log(self) -> LogState:
        return read_log(self._application.batches_topic, self._application.consumer)

    def close(self) -> None:
        for consumer in (self._marks, self._undecided):
            if consumer is not None:
                consumer.close()
        self._marks = self._undecided = None
