"""Deletes processed records of the application's own topics, every now and then."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping

from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition


class Purge:
    """Asks the broker beside the batches, at most once an interval; a failure waits for the next.

    What is not deleted costs disk, and is never read again.
    """

    def __init__(self, admin: Admin, interval_s: float) -> None:
        self._admin = admin
        self._interval_s = interval_s
        self._last = time.monotonic()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._last >= self._interval_s

    def delete(self, before: Mapping[TopicPartition, int]) -> None:
        """Have everything before these offsets deleted, without waiting for it."""
        self._last = time.monotonic()
        threading.Thread(target=self._delete, args=(before,), daemon=True).start()

    def _delete(self, before: Mapping[TopicPartition, int]) -> None:
        with contextlib.suppress(PenstockError):
            self._admin.delete_records(before)
