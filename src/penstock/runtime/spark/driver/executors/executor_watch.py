"""Notices that a job waits because the application has no executor, and reports it.

Spark only writes a line into its own log, and then waits without limit. An application whose
executors never start, or are lost for good, would do nothing and look healthy.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark import SparkContext

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.placement import is_local, known_executors

log = logging.getLogger(__name__)

_LOOK_S = 1.0
#: Nothing is reported for this time, in which a cluster with room replaces a lost executor.
_PATIENCE_S = 10.0


@dataclass
class _Job:
    """The current job, and since when there has been no executor for it."""

    without_since: float | None = None
    is_told: bool = False
    is_given_up: bool = False


class ExecutorWatch:
    """Checks every second, while a job runs, whether there is any executor.

    Args:
        tell: called with what the application waits for, and with None when that is over.
        cancel: cancels the job that waits.
        timeout_s: how long to wait for an executor before the job is cancelled.
    """

    def __init__(
        self,
        context: SparkContext,
        tell: Callable[[str | None], None],
        cancel: Callable[[], None],
        timeout_s: float,
    ) -> None:
        self._context = context
        self._tell = tell
        self._cancel = cancel
        self._timeout_s = timeout_s
        self._master = str(context.getConf().get("spark.master", "local"))
        self._job: _Job | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def over_job(self) -> Iterator[None]:
        """Watch the executors inside the ``with`` block.

        Raises:
            StreamsError: ``no-executors``, if the job was cancelled because there were none.
        """
        if is_local(self._master):
            yield
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="penstock-executors")
            self._thread.daemon = True
            self._thread.start()
        job = self._job = _Job()
        try:
            yield
        except Exception as error:
            if job.is_given_up:
                raise self._none(self._timeout_s) from error
            raise
        finally:
            self._job = None
            if job.is_told:
                self._tell(None)

    def close(self) -> None:
        self._closing.set()

    def _watch(self) -> None:
        while not self._closing.wait(_LOOK_S):
            job = self._job
            if job is not None:
                self._look(job)

    def _look(self, job: _Job) -> None:
        """Check the executors once; report how long there has been none."""
        now = time.monotonic()
        if known_executors(self._context) != 0:
            job.without_since = None
            if job.is_told:
                job.is_told = False
                self._tell(None)
            return
        job.without_since = job.without_since or now
        waited_s = now - job.without_since
        if waited_s < _PATIENCE_S or job.is_given_up:
            return
        self._tell(self._none(waited_s).message)
        if not job.is_told:
            job.is_told = True
            log.warning("%s", self._none(waited_s).message)
        if waited_s > self._timeout_s:
            job.is_given_up = True
            self._cancel()

    def _none(self, waited_s: float) -> StreamsError:
        return StreamsError(
            "no-executors",
            f"the application has had no executor for {waited_s:.0f} s: {self._master} gives it"
            " none",
            fix="see whether the cluster has room for an executor of this size"
            " (spark.executor.memory, spark.executor.cores), and why executors end: their logs"
            " are on the cluster",
        )
