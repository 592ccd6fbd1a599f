"""A push query on Spark: an application of its own, whose rows the caller reads."""

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
    """A running push query; its rows are in a topic that only this query writes.

    ``close`` deletes everything of the query: topics, group and folder.
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
        #: The time of the last row, by ``time.monotonic``.
        self.last_row_at = time.monotonic()

    def rows(self, timeout_s: float | None = None) -> Iterator[Row]:
        """Yield rows until the LIMIT, ``stop`` or a number of seconds without a row."""
        return self.query.read(self._records(timeout_s))

    def _records(self, timeout_s: float | None) -> Iterator[tuple[bytes | None, bytes | None]]:
        # A consumer with assigned partitions joins no group, so no group has to be deleted.
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
        """Make ``rows`` end soon; any thread may call this."""
        self._stop.set()

    def close(self) -> None:
        """End the query and delete all of its data; ``rows`` must have ended."""
        self.stop()
        self._consumer.close()
        self.application.close()
        self._admin.delete_topics([self.query.id], missing_ok=True)
        remove_application(self._admin, self._config)

    def __enter__(self) -> RunningPush:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
