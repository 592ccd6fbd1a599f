"""Notices that an application waits because all cores of Spark are taken, and reports it.

Stream threads are tasks that stay. So an application for which there is no core left waits until
another one ends, and Spark says nothing about it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from pyspark import SparkContext

from penstock.runtime.spark.driver.executors.spark_executors import is_local, known_executors

log = logging.getLogger(__name__)

#: Nothing is reported for this time, in which Spark starts a thread if it has a free core.
_PATIENCE_S = 10.0


class CoreWatch:
    """Looks while the application waits for its first stream thread, and has executors.

    Args:
        tell: called with what the application waits for, and with None when that is over.
    """

    def __init__(self, context: SparkContext, tell: Callable[[str | None], None]) -> None:
        self._context = context
        self._tell = tell
        self._is_local = is_local(context.getConf().get("spark.master", "local"))
        self._since: float | None = None
        self._is_told = False

    def look(self) -> None:
        """Look once; report how long there has been no thread."""
        if not self._is_local and known_executors(self._context) == 0:
            # Nothing but an executor is missing, and that is reported elsewhere.
            self._since = None
            return
        now = time.monotonic()
        self._since = self._since or now
        waited_s = now - self._since
        if waited_s < _PATIENCE_S:
            return
        text = f"Spark has started no stream thread for {waited_s:.0f} s: all its cores are busy"
        self._tell(text)
        if not self._is_told:
            self._is_told = True
            log.warning(
                "%s; end other applications and jobs of the session, or give Spark more cores",
                text,
            )

    def over(self) -> None:
        """Note that the application does not wait any more."""
        self._since = None
        if self._is_told:
            self._is_told = False
            self._tell(None)
