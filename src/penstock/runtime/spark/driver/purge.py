"""Deletes processed records of the application's own topics, at most once per interval."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping

from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition


class Purge:
    """Asks the broker in a thread beside the batches; after a failure, the next call tries again.

    Records that are not deleted take up disk space, but are never read again.
    """

    def __init__(self, admin: Admin, interval_s: float) -> None:
        self._admin = admin
        self._interval_s = interval_s
        self._last = time.monotonic()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._last >= self._interval_s

    def delete(self, before: Mapping[TopicPartition, int]) -> None:
        """Delete all records before these offsets, without waiting for the result."""
        self._last = time.monotonic()
        threading.Thread(target=self._delete, args=(before,), daemon=True).start()

    def _delete(self, before: Mapping[TopicPartition, int]) -> None:
        with contextlib.suppress(PenstockError):
            self._admin.delete_records(before)
