"""Stream threads in processes of their own, below a shell that goes by the name of Java."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import cloudpickle

from penstock.runtime.spark.driver.threads.door import Door, LiveThread
from penstock.runtime.spark.exchange.questions import Worked
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.thread_task import ThreadTask

SECRET = b"s" * 32
EXECUTOR = "7"
#: Stands for Spark's Python worker: it runs the task, and then it is there for the next one.
_WORKER = """
import logging, os, sys, cloudpickle
task = cloudpickle.loads(bytes.fromhex(os.environ["TASK"]))
before = sys.stdout, sys.stderr, list(logging.getLogger().handlers)
assert task(iter([3])) == []
assert (sys.stdout, sys.stderr, list(logging.getLogger().handlers)) == before
print("ended as", open("/proc/self/comm").read().strip(), flush=True)
sys.stdin.read()
"""
#: Stands for Spark's daemon, which is between the JVM and its Python workers.
_DAEMON = """
import os, subprocess, sys
with subprocess.Popen([sys.executable, "-c", os.environ["WORKER"]]) as worker:
    print("daemon", os.getpid(), flush=True)
"""
_SHELL = '"$PYTHON" -c "$PROGRAM"; echo "exit $?"'


@dataclass
class Threads:
    """A driver's door, and the threads that have come in."""

    door: Door = field(init=False)
    came: list[LiveThread] = field(default_factory=list)
    gone: list[LiveThread] = field(default_factory=list)
    #: What the process beside a thread has said about it.
    states: list[str] = field(default_factory=list)
    #: What threads have said that they have done.
    done: list[Worked] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.door = Door("127.0.0.1", SECRET, self)

    def arrived(self, thread: LiveThread) -> None:
        with self.changed:
            self.came.append(thread)
            self.changed.notify_all()

    def left(self, thread: LiveThread) -> None:
        with self.changed:
            self.gone.append(thread)
            self.changed.notify_all()

    def beat(self, server: str, state: str) -> None:
        with self.changed:
            self.states.append(state)
            self.changed.notify_all()

    def worked(self, server: str, worked: Worked) -> None:
        with self.changed:
            self.done.append(worked)
            self.changed.notify_all()

    def first(self, within_s: float = 60.0) -> LiveThread:
        with self.changed:
            assert self.changed.wait_for(lambda: self.came, within_s), "no thread has come"
            return self.came[0]

    def is_left(self, within_s: float = 60.0) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: bool(self.gone), within_s)

    def close(self) -> None:
        self.door.close()
        for thread in self.came:
            thread.hang_up()


@dataclass(frozen=True)
class Started:
    """A stream thread in a process, as its driver sees it."""

    threads: Threads
    shell: subprocess.Popen[str]

    @property
    def thread(self) -> LiveThread:
        return self.threads.first()

    @property
    def endpoint(self) -> Endpoint:
        return self.thread.endpoint

    @property
    def pid(self) -> int:
        """The process of the thread; its name has it."""
        return int(self.endpoint.server.split("-")[-2])

    def next_line(self) -> str:
        """Return what the worker, or the shell above it, says next."""
        assert self.shell.stdout is not None
        return self.shell.stdout.readline().rstrip("\n")


@contextmanager
def stream_thread(
    *,
    executor: str | None = None,
    tags: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    has_daemon: bool = False,
) -> Iterator[Started]:
    """Have a Python worker of an executor run a stream thread.

    Args:
        executor: the only executor where the thread may stay.
        has_daemon: whether another Python process is the worker's parent, as in Spark.
    """
    threads = Threads()
    task = ThreadTask(
        driver=threads.door.endpoint, secret=SECRET, job="job", executor=executor, tags=tags or {}
    )
    given = {
        "PYTHON": sys.executable, "PROGRAM": _DAEMON if has_daemon else _WORKER,
        "WORKER": _WORKER, "TASK": cloudpickle.dumps(task).hex(), **(environment or {}),
    }  # fmt: skip
    shell = subprocess.Popen(
        ["java", "-c", _SHELL, "x", "--executor-id", EXECUTOR, "--hostname", "127.0.0.1"],
        executable="/bin/sh", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **given},
    )  # fmt: skip
    with shell:
        try:
            yield Started(threads, shell)
        finally:
            threads.close()
            shell.kill()


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that has ended but was not waited for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def happens(claim: Callable[[], bool], within_s: float) -> bool:
    """Wait until something is true; false if it is not in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if claim():
            return True
        time.sleep(0.05)
    return claim()
