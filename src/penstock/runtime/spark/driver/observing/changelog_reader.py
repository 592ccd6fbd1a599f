"""Reads a stretch of a store's changelog. What follows new changes is ``change_feed``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_consumer
from penstock.kafka.error_table import Verdict, verdict
from penstock.runtime.spark.driver.observing.change_feed import ChangeDecoder
from penstock.serving.application import NotAvailableError, StoreChange, StoreInfo
from penstock.serving.past.values import Changes

_ANSWER_S = 10.0
_POLL_S = 0.2
_MOST_AT_ONCE = 5_000
#: The end of a transaction is a record of its own, which no reader gets.
_MARK = 1


class ChangelogReader:
    """Reads committed changes, one stretch at a time, over a connection that is kept.

    Args:
        settings: settings of the consumer.
        consumer: makes it.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        consumer: Callable[[Mapping[str, Any]], Consumer] = new_consumer,
    ) -> None:
        self._settings = {
            **settings, "isolation.level": "read_committed", "enable.partition.eof": True,
        }  # fmt: skip
        self._make = consumer
        self._consumer: Consumer | None = None
        self._lock = threading.Lock()

    def read(self, info: StoreInfo, partition: int, start: int, end: int) -> Changes:
        """Read the changes of one partition with offsets in [``start``, ``end``).

        Raises:
            NotAvailableError: ``store-not-ready``: Kafka does not answer.
        """
        try:
            with self._lock:
                return self._read(info, partition, start, end)
        except (KafkaException, StreamsError) as error:
            raise NotAvailableError(
                "store-not-ready",
                f"the changelog of store {info.name!r} cannot be read: {error}",
                fix="ask again when the brokers answer",
            ) from error

    def close(self) -> None:
        """Close the connection; a later read opens another one."""
        with self._lock:
            consumer, self._consumer = self._consumer, None
            if consumer is not None:
                consumer.close()

    def _read(self, info: StoreInfo, partition: int, start: int, end: int) -> Changes:
        if self._consumer is None:
            self._consumer = self._make(self._settings)
        consumer, decoder = self._consumer, ChangeDecoder.of(info)
        part = TopicPartition(info.changelog, partition)
        begins, _ = consumer.get_watermark_offsets(part, _ANSWER_S)
        changes: list[StoreChange] = []
        reached, is_whole = max(start, begins), True
        if reached < end:
            consumer.assign([TopicPartition(info.changelog, partition, reached)])
            for message in _messages(consumer, end):
                offset = message.offset() or 0
                is_whole = is_whole and offset - reached <= _MARK
                reached = offset + 1
                change = decoder.change(message)
                if change is not None:
                    changes.append(change)
            consumer.unassign()
        is_whole = is_whole and end - reached <= _MARK
        return Changes(changes=changes, begins=begins, is_whole=is_whole)


def _messages(consumer: Consumer, end: int) -> Iterator[Message]:
    """Return the records before an offset, or before the end of the log."""
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline:
        for message in consumer.consume(_MOST_AT_ONCE, _POLL_S):
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                return
            if error is not None:
                if verdict(error) not in (Verdict.IGNORE, Verdict.WAIT):
                    raise KafkaException(error)
                continue
            if (message.offset() or 0) >= end:
                return
            yield message
            if (message.offset() or 0) + 1 >= end:
                return
    raise StreamsError(
        "too-slow",
        f"Kafka has not sent all changes in {_ANSWER_S:.0f} s",
        fix="ask for less: a later commit, or fewer partitions",
    )
