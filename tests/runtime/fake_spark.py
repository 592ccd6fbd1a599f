"""A Spark context that runs the jobs of stream threads in Python threads of this process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from penstock.runtime.spark.exchange.channel import connect, receive, send, shut
from penstock.runtime.spark.exchange.questions import End, Hello, SparkTask, Worked
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.work import Work
from penstock.runtime.spark.worker.thread_task import ThreadTask

SECRET = b"s" * 32
_WORKED = Worked(work=Work(records_read=7), cpu_ns=5, run_ms=3)


@dataclass
class FakeThread:
    """A stream thread: its line and its place; it does nothing but wait for its end."""

    endpoint: Endpoint
    line: Any
    #: Whether it takes no notice of its end, as a busy function of the user does.
    is_stuck: bool = False
    is_ended: bool = False

    def die(self) -> None:
        """End as a killed process does: the system closes its line."""
        shut(self.line)


@dataclass
class FakeSpark:
    """Has so many cores; a task waits until one is free, and starts again if its thread dies."""

    cores: int = 8
    master: str = "local[8]"
    #: By number of a thread: the executor on which it starts.
    executors: Sequence[tuple[str, str]] = (("127.0.0.1", "driver"),)
    tags: dict[str, str] = field(default_factory=dict)
    #: Raised by the next attempts of jobs, one after the other.
    errors: list[Exception] = field(default_factory=list)
    #: Whether new threads take no notice of their end.
    makes_stuck: bool = False
    threads: list[FakeThread] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    killed: list[tuple[int, bool]] = field(default_factory=list)
    attempts: int = 0
    #: What every thread has done.
    worked: Worked = _WORKED

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self._numbers = itertools.count()
        self._group = threading.local()
        backend = SimpleNamespace(totalCores=lambda: self.cores)
        scala = SimpleNamespace(
            schedulerBackend=lambda: backend, isStopped=lambda: self.is_stopped,
            killTaskAttempt=lambda attempt, interrupt, why: self.killed.append(
                (attempt, interrupt)
            ),
        )  # fmt: skip
        self._jsc = SimpleNamespace(sc=lambda: scala, setCallSite=self.names.append)
        self.uiWebUrl = None
        self.is_stopped = False
        self.defaultParallelism = self.cores

    # What Penstock calls

    def getConf(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return {"spark.master": self.master, "spark.driver.host": "127.0.0.1"}

    def setLocalProperty(self, name: str, value: str) -> None: ...  # noqa: N802

    def setJobGroup(self, group: str, title: str) -> None:  # noqa: N802
        self.titles.append(title)
        self._group.name = group

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802
        with self.changed:
            self.cancelled.append(group)
            self.changed.notify_all()

    def parallelize(self, numbers: range, slices: int) -> Any:
        assert len(numbers) == slices
        count: Callable[[ThreadTask], Any] = lambda task: SimpleNamespace(  # noqa: E731
            _jrdd=SimpleNamespace(count=lambda: self._job(task, slices))
        )
        return SimpleNamespace(mapPartitions=count)

    # What it does

    def _job(self, task: ThreadTask, count: int) -> int:
        with self.changed:
            self.attempts += 1
            self.changed.notify_all()
        if self.errors:
            raise self.errors.pop(0)
        group = self._group.name
        tasks = [
            threading.Thread(target=self._task, args=(task, group), daemon=True)
            for _ in range(count)
        ]
        for each in tasks:
            each.start()
        for each in tasks:
            each.join()
        if group in self.cancelled:
            raise RuntimeError("the job was cancelled")
        return 0

    def _task(self, task: ThreadTask, group: str) -> None:
        while group not in self.cancelled:
            with self.changed:
                self.changed.wait_for(lambda: self.cores > 0 or group in self.cancelled)
                if group in self.cancelled:
                    return
                self.cores -= 1
            try:
                if self._thread(task, group):
                    return
            except OSError:
                return
            finally:
                with self.changed:
                    self.cores += 1
                    self.changed.notify_all()

    def _thread(self, task: ThreadTask, group: str) -> bool:
        """Be a stream thread; false if it has died."""
        number = next(self._numbers)
        host, name = self.executors[number % len(self.executors)]
        endpoint = Endpoint(f"thread-{number}", host, 1, task.executor or name)
        with connect(task.driver, task.secret, 10.0) as line:
            made = FakeThread(endpoint, line, is_stuck=self.makes_stuck)
            self.threads.append(made)
            spark_task = SparkTask(number, stage=1)
            send(line, Hello(endpoint=endpoint, task=spark_task, job=task.job, tags=self.tags))
            try:
                send(line, self.worked)
                made.is_ended = isinstance(receive(line), End)
            except (EOFError, OSError):
                return False
            while made.is_stuck and group not in self.cancelled:
                with self.changed:
                    self.changed.wait(0.05)
            return True
