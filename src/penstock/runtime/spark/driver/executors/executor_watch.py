"""Notices that an application waits because it has no executor, and reports it.

Spark only writes a line into its own log, and then waits without limit. An application whose
executors never start, or are lost for good, would do nothing and look healthy.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from pyspark import SparkContext

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.executors.core_watch import CoreWatch
from penstock.runtime.spark.driver.executors.spark_executors import is_local, known_executors

log = logging.getLogger(__name__)

#: Nothing is reported for this time, in which a cluster with room replaces a lost executor.
_PATIENCE_S = 10.0


class ExecutorWatch:
    """Looks for executors while the application waits for stream threads.

    Args:
        tell: called with what the application waits for, and with None when that is over.
        timeout_s: how long to wait for an executor.
    """

    def __init__(
        self, context: SparkContext, tell: Callable[[str | None], None], timeout_s: float
    ) -> None:
        self._context = context
        self._tell = tell
        self._timeout_s = timeout_s
        self._cores = CoreWatch(context, tell)
        self._master = str(context.getConf().get("spark.master", "local"))
        self._without_since: float | None = None
        self._is_told = False

    def look(self) -> None:
        """Look once; report how long there has been no executor.

        Raises:
            StreamsError: ``no-executors``, if there has been none for too long.
        """
        self._cores.look()
        if is_local(self._master):
            return
        now = time.monotonic()
        if known_executors(self._context) != 0:
            self._have_come()
            return
        self._without_since = self._without_since or now
        waited_s = now - self._without_since
        if waited_s < _PATIENCE_S:
            return
        self._tell(self._none(waited_s).message)
        if not self._is_told:
            self._is_told = True
            log.warning("%s", self._none(waited_s).message)
        if waited_s > self._timeout_s:
            self.over()
            raise self._none(waited_s)

    def over(self) -> None:
        """Note that the application does not wait any more."""
        self._cores.over()
        self._have_come()

    def _have_come(self) -> None:
        self._without_since = None
        if self._is_told:
            self._is_told = False
            self._tell(None)

    def _none(self, waited_s: float) -> StreamsError:
        return StreamsError(
            "no-executors",
            f"the application has had no executor for {waited_s:.0f} s: {self._master} gives it"
            " none",
            fix="see whether the cluster has room for an executor of this size"
            " (spark.executor.memory, spark.executor.cores), and why executors end: their logs"
            " are on the cluster",
        )
