"""Keep a replica at the newest cut, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.runtime.logs import is_fault
from penstock.runtime.spark.exchange.batch_log import Cut
from penstock.runtime.spark.replica.replica import Replica
from penstock.runtime.spark.worker.kafka_failures import as_streams_error

log = logging.getLogger(__name__)

_PAUSE_S = 0.5
_CLOSE_S = 30.0


class ReplicaThread:
    """Bring a replica to each new cut; after an error, try again until ``close``.

    Args:
        newest: returns the newest known cut, or None if there is none.
    """

    def __init__(self, replica: Replica, newest: Callable[[], Cut | None]) -> None:
        self.replica = replica
        self._newest = newest
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._is_promoted = False
        self._thread = threading.Thread(target=self._run, name="penstock-replica", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Make the thread look for a new cut now."""
        self._wake.set()

    def close(self, *, is_promoted: bool = False) -> None:
        """Stop following, and close the databases.

        While no broker can be reached, the thread may be in the middle of a read for longer than
        this call waits. It closes the databases itself when it ends: closing a client of Kafka's
        while another thread uses it may never return.
        """
        self._is_promoted = is_promoted
        self._closing.set()
        self._wake.set()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        try:
            self._follow()
        finally:
            self.replica.close(is_promoted=self._is_promoted)

    def _follow(self) -> None:
        last: Cut | None = None
        while not self._closing.is_set():
            cut = self._newest()
            if cut is None or cut == last:
                self._wake.wait(_PAUSE_S)
                self._wake.clear()
                continue
            try:
                self.replica.follow(cut, self._closing.is_set)
                last = cut
            except Exception as error:
                failure = as_streams_error(error)
                said = failure.message if isinstance(failure, PenstockError) else repr(failure)
                log.warning("copies of stores are waiting: %s", said, exc_info=is_fault(failure))
                self._closing.wait(_PAUSE_S)
