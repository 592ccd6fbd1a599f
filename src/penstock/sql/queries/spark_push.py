"""A push query on Spark: an application of its own whose rows somebody reads as they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.kafka.admin import Admin
from penstock.sql.queries.push import PushQuery, Row

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.streams import KafkaStreams

_POLL_S = 0.05


class RunningPush:
    """Rows come from a topic that only this query writes and that goes when it is closed."""

    def __init__(
        self, query: PushQuery, application: KafkaStreams, consumer: Any, admin: Admin
    ) -> None:
        self.query = query
        self.application = application
        self._consumer = consumer
        self._admin = admin
        self._stop = threading.Event()
        #: When the last row came, as ``time.monotonic`` says it.
        self.last_row_at = time.monotonic()

    def rows(self, timeout_s: float | None = None) -> Iterator[Row]:
        """Gives rows until the LIMIT, ``stop`` or so many seconds without a row."""
        return self.query.read(self._records(timeout_s))

    def _records(self, timeout_s: float | None) -> Iterator[tuple[bytes | None, bytes | None]]:
        self._consumer.subscribe([self.query.id])
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
        """Ends ``rows`` soon, from whatever thread."""
        self._stop.set()

    def close(self) -> None:
        """Ends the query and deletes its topic; nobody may be reading rows any more."""
        self.stop()
        self._consumer.close()
        self.application.close()
        self._admin.delete_topics([self.query.id], missing_ok=True)

    def __enter__(self) -> RunningPush:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
