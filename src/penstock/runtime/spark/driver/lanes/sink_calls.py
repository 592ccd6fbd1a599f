"""Hands the rows of cuts to ``to_spark`` functions and tables; no batch waits for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from penstock.errors import PenstockError
from penstock.model.remedies import Remedy, remedy
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.failures import explained
from penstock.runtime.spark.driver.lanes.accounts import Accounts
from penstock.runtime.spark.exchange.batch_log import Cut

log = logging.getLogger(__name__)

_PAUSE_S = 1.0


class Sinks(Protocol):
    """Everything of one kind that takes rows."""

    @property
    def has_any(self) -> bool: ...

    def call(self, number: int, written: Mapping[TopicPartition, int] | None) -> None: ...


class SinkCalls:
    """A thread that calls the functions, for one cut after the other.

    If a function is slower than the cuts, it gets the rows of several cuts at once.

    Args:
        report: called with an error that does not pass by itself.
        interval_s: the least time between two calls, unless somebody waits for the rows.
    """

    def __init__(
        self,
        sinks: Sinks,
        accounts: Accounts,
        report: Callable[[PenstockError], None],
        *,
        interval_s: float = 0.0,
    ) -> None:
        self._sinks = sinks
        self._accounts = accounts
        self._report = report
        self._interval_s, self._called_at = interval_s, float("-inf")
        self._is_awaited = False
        self._changed = threading.Condition()
        self._newest: tuple[int, dict[tuple[str, int], int], int] | None = None
        #: How many unknown writes the rows that Kafka has told contain.
        self._asked = accounts.unknown_rows
        self._is_busy = self._is_over = False
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        """Whether the functions have had the rows of the newest cut."""
        return self._newest is None and not self._is_busy

    def taken(self, cut: Cut) -> None:
        """Hand over the rows up to a cut; the caller has the lock of the lanes."""
        if not self._sinks.has_any:
            return
        accounts = self._accounts
        with self._changed:
            self._newest = cut.batch, dict(accounts.spark_rows), accounts.unknown_rows
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="penstock-rows", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def hurry(self) -> None:
        """Let no rows wait for the next time: somebody wants to know that all are handed over."""
        with self._changed:
            if not self.is_idle and not self._is_awaited:
                self._is_awaited = True
                self._changed.notify_all()

    def close(self, patience_s: float) -> bool:
        """Begin no other call; return whether the one under way has ended in time."""
        self.hurry()
        with self._changed:
            done = self._changed.wait_for(lambda: self.is_idle or self._is_over, patience_s)
            self._is_over = True
            self._changed.notify_all()
            return done

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._is_over)
                left_s = self._called_at + self._interval_s - time.monotonic()
                self._changed.wait_for(lambda: self._is_awaited or self._is_over, max(left_s, 0.0))
                if self._is_over:
                    return
                assert self._newest is not None
                number, rows, unknown = self._newest
                self._newest, self._is_busy, self._is_awaited = None, True, False
            is_done = self._called(number, rows if unknown == self._asked else None, unknown)
            with self._changed:
                if not is_done and self._newest is None:
                    self._newest = number, rows, unknown
                self._is_busy = False
                self._changed.notify_all()
                if is_done:
                    self._called_at = time.monotonic()
                else:
                    self._changed.wait_for(lambda: self._is_over, _PAUSE_S)

    def _called(self, number: int, rows: dict[tuple[str, int], int] | None, unknown: int) -> bool:
        """Call the functions; return whether that has worked, or the application ends."""
        try:
            self._sinks.call(number, rows)
        except Exception as error:  # noqa: BLE001 - it may come from a function of the user
            failure = explained(error)
            if remedy(failure) is Remedy.RERUN:
                log.warning("rows wait, then it is tried again: %s", failure.message)
                return False
            self._report(failure)
            with self._changed:
                self._is_over = True
            return True
        self._asked = unknown
        return True
