"""What is killed while a verifier runs, and the watch that says whether the program works again."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from tests.cluster.faults import Faults, Parts
from tests.cluster.processes import Process

KINDS = ("driver", "thread", "jvm", "broker")
_THREAD_NAME = "stream-thread-"
_EVERY_S = 0.5
_ANSWER_S = 3.0


class Kills(Faults):
    """The faults of the cluster test, by the names that a verifier uses."""

    def thread(self) -> str | None:
        """Kill the process of a stream thread."""
        return self._kill("stream thread", thread_processes(self.parts))


def thread_processes(parts: Parts) -> list[Process]:
    """Find the processes of stream threads among those that work for executors.

    This is the one place that knows what a stream thread looks like from outside.
    """
    return [each for each in parts.pythons() if _name(each.pid).startswith(_THREAD_NAME)]


def _name(pid: int) -> str:
    """Return the name that a process has given itself."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


class Progress(threading.Thread):
    """Sees whether the application's group commits, by its offsets, twice a second."""

    def __init__(self, bootstrap: str, application: str) -> None:
        super().__init__(name="verifiers-progress", daemon=True)
        self._admin = Admin({"bootstrap.servers": bootstrap, "log_level": 0}, timeout_s=_ANSWER_S)
        self._application = application
        self._stopping = threading.Event()
        #: The committed offset of each partition, as far as Kafka has answered.
        self.offsets: dict[tuple[str, int], int] = {}
        #: When the offsets changed last, by the monotonic clock.
        self.committed_s: float | None = None
        self._answered_s = time.monotonic()

    def has_committed(self, since_s: float) -> bool:
        """Whether a commit was seen after a moment of the monotonic clock."""
        return self.committed_s is not None and self.committed_s > since_s

    def run(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            asked_s = time.monotonic()
            try:
                found = self._admin.group_offsets(self._application)
            except PenstockError:
                # The broker is away, or has just come back.
                continue
            self.note(found, asked_s)

    def note(self, offsets: dict[tuple[str, int], int], asked_s: float) -> None:
        """Take one answer; only offsets that grow are a commit.

        The commit may have been just after the answer before this one, so that is its time:
        a commit from before a kill must not look like one from after it.
        """
        if sum(offsets.values()) > sum(self.offsets.values()):
            self.offsets, self.committed_s = offsets, self._answered_s
        self._answered_s = asked_s

    def stop(self) -> None:
        self._stopping.set()
        self.join()
