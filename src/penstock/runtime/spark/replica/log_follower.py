"""Follow the batch log: which driver leads, which instances there are, and the newest cut."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.kafka.clients import new_consumer
from penstock.runtime.spark.exchange.batch_log import LogState

log = logging.getLogger(__name__)

_POLL_S = 0.2
_CLOSE_S = 5.0


class LogFollower:
    """Keep ``state`` up to date in a thread of its own until ``close``.

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
        self._closing = threading.Event()
        self._consumer = new_consumer(
            {
                **{name: of for name, of in settings.items() if name != "group.instance.id"},
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": wait_ms,
            }
        )
        self._thread = threading.Thread(target=self._run, name="penstock-log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        try:
            self._consumer.assign([TopicPartition(self._topic, 0, 0)])
            while not self._closing.is_set():
                self._take()
        except (KafkaException, RuntimeError):
            log.exception("the batch log %s is no longer followed", self._topic)
        finally:
            self._consumer.close()

    def _take(self) -> None:
        messages = self._consumer.consume(1000, _POLL_S)
        records = 0
        for message in messages:
            error = message.error()
            if error is None:
                self._apply(bytes(message.key() or b"").decode(), message.value())
                records += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self.is_current.set()
        if records or messages:
            self._changed()

    def _apply(self, key: str, value: bytes | str | None) -> None:
        """Take a record; one that cannot be read must not make this instance blind for others."""
        try:
            self.state.apply(key, value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("record %r of %s cannot be read: %r", key, self._topic, error)
