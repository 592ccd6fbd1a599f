"""The Kafka clients of a slot, behind small protocols; tests use clients in memory instead."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Protocol

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.clients import new_consumer
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.batch_log import LogState, read_log
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.worker.reader import RangeReader, Reader
from penstock.runtime.spark.worker.writer import KafkaWriter, Writer

_ANSWER_S = 30.0


class Clients(Protocol):
    """Make the Kafka clients of a slot, each when the slot first needs it.

    The slot closes its readers itself.
    """

    def writer(self, slot: int, *, one_by_one: bool = False) -> Writer:
        """Return a new writer for a slot, and fence every older writer of that slot.

        Args:
            one_by_one: sends each record in a batch of its own. Kafka refuses a whole batch for
                one bad record; this way only the bad record is refused.
        """

    def reader(self) -> Reader:
        """Return a reader of source topics."""

    def restorer(self) -> Reader:
        """Return a reader of changelogs."""

    def global_reader(self) -> Reader:
        """Return a reader of the topics of global tables."""

    def watermarks(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        """Return the first and the next offset that a reader of committed records can see.

        Args:
            is_own: whether the topic belongs to the application. Then the call waits until the
                broker has ended every transaction there, so that the last commit is visible.
        """

    def all_watermarks(
        self, parts: Collection[TopicPartition], *, is_own: bool
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Return the same for many partitions, with one question for all of them."""

    def batch_log(self) -> LogState:
        """Return what the application's batch log says now."""

    def close(self) -> None: ...


class KafkaClients:
    """Make real Kafka clients, with the application's settings."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._admin: Admin | None = None
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
        try:
            return self._watermarks(topic, partition, is_own=is_own)
        except KafkaException:
            # A client that has once not found a topic may not find it for minutes. The next
            # attempt asks with new ones.
            self._marks = self._undecided = None
            raise

    def _watermarks(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        if self._marks is None or self._undecided is None:
            settings = self._application.consumer
            self._marks = new_consumer(settings)
            self._undecided = new_consumer({**settings, "isolation.level": "read_uncommitted"})
        part = KafkaPartition(topic, partition)
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

    def all_watermarks(
        self, parts: Collection[TopicPartition], *, is_own: bool
    ) -> dict[TopicPartition, tuple[int, int]]:
        if not parts:
            return {}
        if self._admin is None:
            self._admin = Admin(self._application.admin)
        lows = self._admin.begin_offsets(parts)
        ends = self._admin.end_offsets(parts, committed=self._reads_committed)
        if is_own and self._reads_committed:
            written = self._admin.end_offsets(parts)
            for part in parts:
                if ends[part] < written[part]:
                    # It waits until the broker has ended the transaction there.
                    ends[part] = self.watermarks(*part, is_own=True)[1]
        return {part: (lows[part], ends[part]) for part in parts}

    @property
    def _reads_committed(self) -> bool:
        return self._application.consumer.get("isolation.level") != "read_uncommitted"

    def batch_log(self) -> LogState:
        return read_log(self._application.batches_topic, self._application.consumer)

    def close(self) -> None:
        for consumer in (self._marks, self._undecided):
            if consumer is not None:
                consumer.close()
        self._marks = self._undecided = None
