"""A stream thread: a Spark task that stays until the driver ends it.

Spark starts the task, supervises it and tries it again if its process ends. The task works in
Spark's own Python worker: readers, kernel, stores and producers live there. It opens one connection
to the driver, its *line*. The end of that connection tells either side that the other one is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from pyspark import TaskContext

from penstock.errors import StreamsError
from penstock.kafka.machine import variable
from penstock.runtime.spark.exchange.channel import connect, receive, send
from penstock.runtime.spark.exchange.questions import End, Hello, Printed, SparkTask, Worked
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.work import Work
from penstock.runtime.spark.worker.process.captured_output import CAPTURED, captured_output
from penstock.runtime.spark.worker.process.executor import find_executor, is_below_python
from penstock.runtime.spark.worker.process.pulse import pulse
from penstock.runtime.spark.worker.slot_server import SlotServer

log = logging.getLogger(__name__)

#: How long the driver may take to answer the handshake of a new line.
_HANDSHAKE_S = 10.0
#: How often a thread sends what the program has printed while no request runs.
_LINES_S = 0.2
#: How often it tells what it has done, and how often while nothing new is done.
_WORK_S, _IDLE_S = 1.0, 5.0
#: How long the slots of an ending thread may take to close.
_CLOSE_S = 8.0
#: How long Spark may take to kill a process that cannot end by itself.
_KILL_S = 10.0
_PR_SET_NAME, _PR_GET_NAME, _PR_SET_PDEATHSIG = 15, 16, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTask:
    """The function of the Spark job whose tasks are stream threads."""

    #: Where the driver listens for threads.
    driver: Endpoint
    secret: bytes
    job: str
    #: The only executor on which the thread may stay; None if any will do.
    executor: str | None = None
    #: By tag: the environment variable of the host that has its value.
    tags: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, numbers: Iterable[int]) -> list[int]:
        for number in numbers:
            self._stay(number)
        return []

    def _stay(self, number: int) -> None:
        executor = find_executor()
        if self.executor is not None and executor.name != self.executor:
            # Spark had no room where the driver wants the thread.
            return
        _end_with_parent()
        with _named(f"stream-thread-{number}"), captured_output():
            server = SlotServer(self.secret, executor)
            with connect(self.driver, self.secret, _HANDSHAKE_S) as line:
                server.start()
                send(line, self._hello(server.endpoint))
                with pulse(self.driver, self.secret, server.endpoint.server):
                    is_ended = _is_ended(line, server)
                # The end of the line tells the driver that the slots are closed, or too busy.
                is_closed = server.close(_CLOSE_S)
        if not is_closed:
            # A function of the user does not return. It must not go on in a worker that Spark
            # gives to another task.
            log.warning("a slot of this stream thread is busy: its process ends")
            CAPTURED.give_up()
            if is_ended:
                # The driver lets Spark kill the process, which Spark does not take for a failure.
                time.sleep(_KILL_S)
            os._exit(1)
        if not is_ended:
            # A task that fails is tried again by Spark. The driver may have lost only the line.
            raise StreamsError(
                "worker-lost",
                f"the driver at {self.driver.host} has ended the line of this stream thread",
                fix="nothing to do: Spark starts the thread again, unless its driver is gone",
            )

    def _hello(self, endpoint: Endpoint) -> Hello:
        context = TaskContext.get()
        found = {tag: variable(name) for tag, name in self.tags.items()}
        return Hello(
            endpoint=endpoint,
            task=None if context is None else SparkTask(context.taskAttemptId(), context.stageId()),
            job=self.job,
            tags={tag: value for tag, value in found.items() if value is not None},
        )


def _is_ended(line: Connection, server: SlotServer) -> bool:
    """Wait until the driver ends this thread; false if the driver is gone instead."""
    told = _Told()
    try:
        while True:
            if line.poll(_LINES_S) and isinstance(receive(line), End):
                return True
            # While a request is under way, its own connection carries what the program prints.
            lines = [] if server.is_working else CAPTURED.take()
            if lines:
                send(line, Printed(tuple(lines)))
            worked = told.news(server.work)
            if worked is not None:
                send(line, worked)
    except (EOFError, OSError) as error:
        log.debug("the driver of this stream thread is gone: %r", error)
        return False


class _Told:
    """What the driver knows of the work of this thread."""

    def __init__(self) -> None:
        self._began = self._told = time.monotonic()
        # The process may have run other tasks before.
        self._cpu_ns = time.process_time_ns()
        self._work: Work | None = None

    def news(self, ask: Callable[[], Work]) -> Worked | None:
        """Return what to tell now; None if it is too early, or nothing new is done."""
        now = time.monotonic()
        if now - self._told < _WORK_S:
            return None
        work = ask()
        if work == self._work and now - self._told < _IDLE_S:
            return None
        self._told, self._work = now, work
        return Worked(
            work=work, cpu_ns=time.process_time_ns() - self._cpu_ns,
            run_ms=int((now - self._began) * 1000),
        )  # fmt: skip


def _end_with_parent() -> None:
    """Let the system end this process when Spark's daemon, which started it, is killed."""
    # Without the daemon a thread of the JVM is the parent, and such threads end early.
    if sys.platform.startswith("linux") and is_below_python():
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Set the name that ``ps`` and ``top`` show for this process: at most fifteen characters."""
    former = ctypes.create_string_buffer(16)
    try:
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_GET_NAME, former, 0, 0, 0)
        prctl(_PR_SET_NAME, name[:15].encode(), 0, 0, 0)
    except (OSError, AttributeError):
        yield
        return
    try:
        yield
    finally:
        prctl(_PR_SET_NAME, former, 0, 0, 0)
