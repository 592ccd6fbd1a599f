"""Follow the batch log: which driver leads, which instances there are, and the newest cut."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from penstock.kafka.clients import new_consumer
from penstock.runtime.spark.exchange.batch_log import LogState

log = logging.getLogger(__name__)

_POLL_S = 0.2
#: The timeout of the first poll. It is short, because the application waits for it.
_FIRST_POLL_S = 0.02
_ANSWER_S = 1.0
_CLOSE_S = 5.0
#: The pauses before a failed consumer is replaced, one after the other.
_AGAIN_S = (1.0, 2.0, 5.0, 10.0)


class LogFollower:
    """Keep ``state`` up to date in a thread of its own until ``close``.

    After a failure, a new consumer continues where the last one was. If it cannot be created, that
    is tried again: without the log, this instance would not know which driver leads.

    Args:
        changed: called in that thread after new records have changed ``state``.
        wait_ms: how long the broker may hold an answer back.
    """

    def __init__(
        self,
        topic: str,
        settings: Mapping[str, Any],
        changed: Callable[[], None],
        *,
        wait_ms: int = 100,
    ) -> None:
        self.state = LogState()
        #: Set once all records that existed at the start have been read.
        self.is_current = threading.Event()
        self._topic = topic
        self._changed = changed
        #: The end of the log at the start; None if it is not known.
        self._end: int | None = None
        #: The offset of the next record.
        self._next = 0
        self._closing = threading.Event()
        self._settings = {
            **{name: of for name, of in settings.items() if name != "group.instance.id"},
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": wait_ms,
        }
        # Here, so that settings which no consumer can be made with are the caller's error.
        self._consumer: Consumer | None = new_consumer(self._settings)
        #: How many consumers in a row have failed before they read anything.
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="penstock-log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        while True:
            try:
                self._follow(self._consumer or new_consumer(self._settings))
            except Exception:
                # The traces of further failures would most likely repeat the first one.
                log.error(
                    "the batch log %s cannot be followed: trying again", self._topic,
                    exc_info=self._failures == 0,
                )  # fmt: skip
            pause_s = _AGAIN_S[min(self._failures, len(_AGAIN_S) - 1)]
            self._failures += 1
            if self._closing.wait(pause_s):
                return

    def _follow(self, consumer: Consumer) -> None:
        self._consumer = None
        try:
            part = TopicPartition(self._topic, 0, self._next)
            consumer.assign([part])
            self._end = self._end_of(consumer, part)
            while not self._closing.is_set():
                self._take(consumer)
        finally:
            consumer.close()

    def _end_of(self, consumer: Consumer, part: TopicPartition) -> int | None:
        """Ask where the log ends.

        The broker also reports it with an empty answer, but only after ``wait_ms``, and the start
        would have to wait for that.
        """
        try:
            _, end = consumer.get_watermark_offsets(part, timeout=_ANSWER_S)
        except KafkaException as error:
            log.debug("the end of %s is not known: %s", self._topic, error)
            return None
        return int(end)

    def _take(self, consumer: Consumer) -> None:
        poll_s = _POLL_S if self.is_current.is_set() else _FIRST_POLL_S
        messages = consumer.consume(1000, poll_s)
        if messages:
            self._failures = 0
        records = 0
        for message in messages:
            error = message.error()
            if error is None:
                self._apply(bytes(message.key() or b"").decode(), message.value())
                records += 1
                self._next = (message.offset() or 0) + 1
                if self._end is not None and self._next >= self._end:
                    self.is_current.set()
            elif error.code() == KafkaError._PARTITION_EOF:
                self.is_current.set()
        if records or messages:
            self._changed()

    def _apply(self, key: str, value: bytes | str | None) -> None:
        """Apply a record; if it cannot be read, log that and continue with the next one."""
        try:
            self.state.apply(key, value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("record %r of %s cannot be read: %r", key, self._topic, error)
