"""Cuts: states of all stores together, in which downstream has processed what upstream has written.

In a topology without repartition topics, the last commits of all tasks always are one. Otherwise a
cut is where no lane is inside a batch and nothing is on its way between them. That happens by
itself while lanes keep up with their input. In a backlog, the lanes end their batches at the same
moment every now and then.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.lanes.accounts import Accounts
from penstock.runtime.spark.driver.lanes.gate import Gate
from penstock.runtime.spark.exchange.batch_log import BatchLog, Cut

log = logging.getLogger(__name__)

#: Cuts are not more frequent than this: each is a record in the batch log.
_LEAST_S = 0.02
#: Without a cut for so long, the lanes are brought to one.
_WANTED_S, _MOST_WANTED_S = 1.0, 30.0
#: How long lanes may need for that.
_PATIENCE_S = 0.5
#: The share of the time that may be spent on it.
_SHARE = 0.03
_SILENT_S = 30.0


class Cuts:
    """Writes the newest cut to the batch log whenever there is one."""

    def __init__(
        self, batch_log: BatchLog, accounts: Accounts, gate: Gate, *, is_chained: bool
    ) -> None:
        self._log = batch_log
        self._accounts = accounts
        self._gate = gate
        #: Whether sub-topologies write to each other.
        self._is_chained = is_chained
        #: Tells whether something is on its way between tasks, or may be.
        self.is_under_way: Callable[[], bool] = lambda: False
        before = batch_log.state.cut
        self.newest: Cut | None = None
        # A cut is written without waiting. If the last one was lost, its number may still be that
        # of rows which a function of ``to_spark`` has had.
        numbers = [-1 if before is None else before.batch]
        self._next = max(numbers + [told["batch"] for told in batch_log.state.sinks.values()]) + 1
        self._has_news = False
        self._noted = self._tried = time.monotonic()
        self._wanted_s = _WANTED_S
        #: Called with each new cut.
        self.taken: Callable[[Cut], None] = lambda cut: None
        self._is_told = False

    @property
    def has_news(self) -> bool:
        """Whether something was committed that no cut contains."""
        return self._has_news or self._accounts.has_news

    def committed(self, is_new: bool) -> None:
        """Note that a lane has ended its turn, and may have committed something.

        A cut is taken if the lanes are at one.
        """
        with self._gate.changed:
            self._has_news = self._has_news or is_new
            if self._has_news and time.monotonic() - self._noted >= _LEAST_S:
                self._take_if_there()

    def look(self) -> None:
        """Take a cut if one is there, or bring the lanes to one after a while without."""
        with self._gate.changed:
            if not self._has_news:
                self._noted = self._tried = time.monotonic()
                return
            if self._take_if_there():
                return
        if self._left_s() <= 0:
            self._bring()

    def _take_if_there(self) -> bool:
        if self._is_chained and not self._is_there():
            return False
        self.take()
        return True

    def _is_there(self) -> bool:
        return self._gate.is_quiet and not self.is_under_way()

    def take(self) -> Cut:
        """Take the state as it is; the caller knows that it is a cut."""
        with self._gate.changed:
            newest = self.newest
            if newest is None or self._has_news:
                newest = self.newest = self._accounts.cut(self._next)
                self._next += 1
                self._has_news = False
                self._log.note_cut(newest)
                ends = {**newest.global_ends, **newest.ends}
                commits = self._accounts.progress.commits
                commits.note(newest.batch, ends, positions=newest.positions)
                self.taken(newest)
            self._noted = self._tried = time.monotonic()
            self._is_told = False
            return newest

    def number(self) -> int:
        """Return the number of the newest cut of this run; -1 before the first."""
        newest = self.newest
        return -1 if newest is None else newest.batch

    def contained(self) -> dict[TopicPartition, int]:
        """Return up to where all stores contain the records of source topics.

        Tasks may have read more, which is on its way to stores behind repartition topics.
        """
        cut = self.newest or self._log.state.cut
        known = {} if cut is None else {**cut.global_ends, **cut.positions}
        read = self._accounts.progress.position
        return {part: min(at, known.get(part, 0)) for part, at in list(read.items())}

    def seconds_left(self) -> float:
        """Return how long a batch may take before the lanes are brought to a cut."""
        if not self._is_chained:
            return math.inf
        return max(self._left_s(), 0.05)

    def _left_s(self) -> float:
        return self._tried + self._wanted_s - time.monotonic()

    def _bring(self) -> None:
        began = time.monotonic()
        with self._gate.closed(_PATIENCE_S, drains=True) as is_quiet:
            if is_quiet and self._is_there():
                self.take()
        took_s = time.monotonic() - began
        self._tried = time.monotonic()
        least_s = _WANTED_S if is_quiet else self._wanted_s * 2
        self._wanted_s = min(max(least_s, took_s / _SHARE), _MOST_WANTED_S)
        without_s = time.monotonic() - self._noted
        if not is_quiet and without_s > _SILENT_S and not self._is_told:
            self._is_told = True
            log.warning(
                "no cut of all stores for %.0f s: a task does not come to the end of its batch;"
                " the others go on", without_s,
            )  # fmt: skip
