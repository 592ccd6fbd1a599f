"""Start and end queries in threads of their own, at most one piece of work per query at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Literal

_log = logging.getLogger("penstock.server")

Kind = Literal["start", "end"]
#: How many queries start at the same time, and how many end. Mostly they wait for Kafka.
_AT_ONCE = 8


class QueryWork:
    """Start and end queries in threads; the supervisor waits only a moment for them.

    A query whose function hangs takes half a minute to end. Queries that start have a pool of
    their own, so that they do not wait for such queries.

    Args:
        ended: Called in the thread of the work when a piece of it has ended.
    """

    def __init__(self, ended: Callable[[], None]) -> None:
        self._ended = ended
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[None]] = {}
        self._begun: list[Future[None]] = []
        self._threads: dict[Kind, ThreadPoolExecutor] = {
            "start": ThreadPoolExecutor(_AT_ONCE, "penstock-query-start"),
            "end": ThreadPoolExecutor(_AT_ONCE, "penstock-query-end"),
        }

    def begin(self, kind: Kind, query_id: str, work: Callable[[], None]) -> None:
        """Begin to start or to end a query; no other work on it may be under way."""

        def run() -> None:
            try:
                work()
            except Exception:  # noqa: BLE001 - the supervisor looks at the query again
                _log.exception("query %s could not %s", query_id, kind)
            with self._lock:
                del self._under_way[query_id]
            self._ended()

        with self._lock:
            future = self._threads[kind].submit(run)
            self._under_way[query_id] = future
            self._begun.append(future)

    def settle(self, patience_s: float) -> None:
        """Wait for the work that began since the last call, at most ``patience_s`` seconds."""
        begun, self._begun = self._begun, []
        wait(begun, patience_s)

    def busy(self) -> frozenset[str]:
        """Return the queries that are starting or ending."""
        with self._lock:
            return frozenset(self._under_way)

    def close(self, timeout_s: float) -> None:
        """Accept no more work, and wait for the work that is under way."""
        with self._lock:
            left = list(self._under_way.values())
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
        wait(left, timeout_s)
