"""A Spark job whose tasks are stream threads: it runs until they are told to end."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from pyspark import SparkContext

from penstock.errors import PenstockError
from penstock.model.remedies import declared
from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId, placed
from penstock.runtime.spark.driver.failures import explained
from penstock.runtime.spark.driver.session import ask_jvm
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.thread_task import ThreadTask

log = logging.getLogger(__name__)

#: The name of the scheduler pool: with FAIR scheduling, long jobs of the user leave it cores.
_SCHEDULER_POOL = "penstock"
#: The time between two attempts of a job that fails, and of one that fails again and again.
_PAUSE_S, _MOST_PAUSE_S = 0.5, 10.0
#: A failure after so long a time has nothing to do with the one before it.
_STEADY_S = 60.0
_JVM_S = 2.0


class ThreadJob:
    """Keep a number of stream threads running in Spark.

    Spark itself tries a task again whose process has ended. If it gives the job up, because too
    many tasks have failed, the job is started again after a pause.

    Args:
        owner: the name of the job and its stages on Spark's pages.
        title: its first description there.
        executor: where the threads should run; None if anywhere.
        failed: called when an attempt of the job has failed.
    """

    def __init__(
        self,
        context: SparkContext,
        door: Endpoint,
        secret: bytes,
        count: int,
        *,
        owner: str,
        title: str,
        tags: Mapping[str, str],
        failed: Callable[[], None],
        executor: ExecutorId | None = None,
    ) -> None:
        self.name = uuid.uuid4().hex
        self.count = count
        #: Why the last attempt failed; None while an attempt runs well.
        self.error: PenstockError | None = None
        self._context = context
        self._owner = owner
        self.title = title
        self.executor = executor
        self._failed = failed
        self._closing = threading.Event()
        self._task = ThreadTask(
            driver=door, secret=secret, job=self.name, tags=tags,
            executor=None if executor is None else executor.name,
        )  # fmt: skip
        self._group = f"penstock-threads-{self.name}"
        self._thread = threading.Thread(target=self._run, name="penstock-job", daemon=True)
        self._thread.start()

    def note_arrival(self) -> None:
        """Note that a thread of this job has come up: the last failure is over."""
        self.error = None

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def close(self, patience_s: float) -> None:
        """Wait until all threads have ended; after the patience, let Spark kill those left."""
        self._closing.set()
        self._thread.join(patience_s)
        if self._thread.is_alive():
            log.debug("stream threads do not end: their Spark job is cancelled")
            ask_jvm(lambda: self._context.cancelJobGroup(self._group), _JVM_S)

    def _run(self) -> None:
        pause_s = _PAUSE_S
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                self._attempt()
                return
            except Exception as error:  # noqa: BLE001 - told to those who wait for threads
                if self._closing.is_set():
                    return
                self.error = explained(error)
                self._failed()
                if declared(self.error).ends_jobs:
                    return
                log.warning(
                    "Spark has ended stream threads, they are started again: %s", self.error
                )
            if time.monotonic() - began > _STEADY_S:
                pause_s = _PAUSE_S
            self._closing.wait(pause_s)
            pause_s = min(pause_s * 2, _MOST_PAUSE_S)

    def _attempt(self) -> None:
        context: Any = self._context
        context.setLocalProperty("spark.scheduler.pool", _SCHEDULER_POOL)
        context.setJobGroup(self._group, self.title)
        tasks: Any = placed(self._context, self.executor, self.count).mapPartitions(self._task)
        # PySpark's own actions would name the job after this line of code.
        context._jsc.setCallSite(self._owner)
        tasks._jrdd.count()
