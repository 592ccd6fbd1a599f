"""Find the processes of a run in /proc: executors, their Python processes, the driver's JVM."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.hosts import MARKER, signal_all

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One process at the moment of looking; zombies are not listed."""

    pid: int
    parent: int
    command: str

    @property
    def is_java(self) -> bool:
        return self._program.startswith("java")

    @property
    def is_python(self) -> bool:
        return self._program.startswith("python")

    @property
    def is_executor(self) -> bool:
        return self.is_java and "CoarseGrainedExecutorBackend" in self.command

    @property
    def _program(self) -> str:
        return os.path.basename(self.command.split(" ", 1)[0])


@dataclass(frozen=True)
class ProcessTable:
    """All processes of one run, by process id, whoever their parents are by now."""

    processes: dict[int, Process]

    def executors(self) -> list[Process]:
        """Return the JVMs of Spark's executors, also those whose worker daemon is gone."""
        return [each for each in self.processes.values() if each.is_executor]

    def application_masters(self) -> list[Process]:
        """Return the process that YARN runs for an application whose driver is elsewhere."""
        found = self.processes.values()
        return [each for each in found if each.is_java and "ExecutorLauncher" in each.command]

    def driver_jvms(self, driver: int) -> list[Process]:
        """Return the JVM of a driver."""
        return [each for each in self._below({driver}) if each.is_java]

    def pythons(self, driver: int, *, is_local: bool) -> list[Process]:
        """Return every Python process that works for an executor.

        Those are Spark's Python daemon and its workers, which are the stream threads. A worker
        whose parent has died is a child of init; it is known by the run's mark.
        """
        hosts = self.driver_jvms(driver) if is_local else self.executors()
        below = list(self._below({each.pid for each in hosts}))
        orphans = [each for each in self.processes.values() if each.parent == 1]
        found = {each.pid: each for each in [*below, *orphans] if each.is_python}
        return list(found.values())

    def without_driver(self) -> list[Process]:
        """Return what belongs to an application and should end when its driver has ended."""
        # No process has this id.
        pythons = self.pythons(-1, is_local=False)
        return [*self.executors(), *self.application_masters(), *pythons]

    def _below(self, roots: set[int]) -> Iterator[Process]:
        for each in self.processes.values():
            if any(parent in roots for parent in self._parents(each)):
                yield each

    def _parents(self, process: Process) -> Iterator[int]:
        current: Process | None = process
        while current is not None:
            yield current.parent
            current = self.processes.get(current.parent)


def look(mark: str) -> ProcessTable:
    """List the processes that carry the mark of a run."""
    wanted = f"{MARKER}={mark}".encode()
    found = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except (OSError, ValueError):
                # It has ended meanwhile, or belongs to another user and so is not ours.
                continue
            if state != "Z":
                found[int(entry.name)] = Process(int(entry.name), int(parent), command)
    return ProcessTable(found)


def sweep(mark: str, timeout_s: float = 10.0) -> None:
    """Kill everything that a run has left."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        left = [pid for pid in look(mark).processes if pid != os.getpid()]
        if not left:
            return
        signal_all(left, signal.SIGKILL)
        time.sleep(0.1)
