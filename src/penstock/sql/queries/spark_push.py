"""A push query on Spark: an application of its own whose rows somebody reads as they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.removal import remove_application
from penstock.sql.queries.push import PushQuery, Row

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.streams import KafkaStreams

_POLL_S = 0.05


class RunningPush:
    """Rows come from a topic that only this query writes.

    Nothing of the query is left when it is closed: no topic, no group, no folder.
    """

    def __init__(
        self,
        query: PushQuery,
        application: KafkaStreams,
        consumer: Any,
        admin: Admin,
        config: StreamsConfig,
    ) -> None:
        self.query = query
        self.application = application
        self._consumer = consumer
        self._admin = admin
        self._config = config
        self._stop = threading.Event()
        #: When the last row came, as ``time.monotonic`` says it.
        self.last_row_at = time.monotonic()

    def rows(self, timeout_s: float | None = None) -> Iterator[Row]:
        """Give rows until the LIMIT, ``stop`` or so many seconds without a row."""
        return self.query.read(self._records(timeout_s))

    def _records(self, timeout_s: float | None) -> Iterator[tuple[bytes | None, bytes | None]]:
        # A consumer that is told where to read joins no group, so none is left behind.
        places = self._admin.topic(self.query.id).partitions
        self._consumer.assign(
            [TopicPartition(self.query.id, place.id, OFFSET_BEGINNING) for place in places]
        )
        while not self._stop.is_set():
            message = self._consumer.poll(_POLL_S)
            if self.application.error is not None:
                raise self.application.error
            if message is not None and message.error() is None:
                self.last_row_at = time.monotonic()
                yield message.key(), message.value()
            elif timeout_s is not None and time.monotonic() - self.last_row_at > timeout_s:
                return

    def stop(self) -> None:
        """End ``rows`` soon, from whatever thread."""
        self._stop.set()

    def close(self) -> None:
        """End the query and delete all that it had; nobody may be reading rows any more."""
        self.stop()
        self._consumer.close()
        self.application.close()
        self._admin.delete_topics([self.query.id], missing_ok=True)
        remove_application(self._admin, self._config)

    def __enter__(self) -> RunningPush:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
