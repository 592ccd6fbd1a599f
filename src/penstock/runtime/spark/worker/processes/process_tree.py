"""Find the Spark executor of this process, and tell a process from a later one with its id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from penstock.kafka.machine import environment

IS_LINUX = sys.platform.startswith("linux")
_MOST_GENERATIONS = 12


class Process(NamedTuple):
    """A process id with the time at which the process began.

    The system uses ids again, so an id alone does not identify a process.
    """

    pid: int
    began: str

    @property
    def is_alive(self) -> bool:
        return self.began != "" and began(self.pid) == self.began

    @property
    def is_stopped(self) -> bool:
        """Whether the process stands still by a signal, and goes on only by another one."""
        return self.is_alive and _state(self.pid) == "T"

    def kill(self) -> None:
        """Kill the process, unless its id now belongs to another one."""
        if self.is_alive:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                return


class Executor(NamedTuple):
    """The Spark executor that this process belongs to: its JVM, its id and its host name."""

    process: Process | None
    name: str
    host: str


def began(pid: int) -> str:
    """Return when a process began, as the system writes it.

    The result is empty if the process does not exist or is a zombie.
    """
    if IS_LINUX:
        fields = _stat(pid)
        return "" if not fields or fields[0] == "Z" else fields[19]
    return _ps(pid, "lstart")


def _state(pid: int) -> str:
    """Return one letter: ``R`` runs, ``S`` sleeps, ``T`` is stopped; empty if it is gone."""
    return (_stat(pid)[:1] or [""])[0] if IS_LINUX else _ps(pid, "stat")[:1]


def _stat(pid: int) -> list[str]:
    try:
        # The name in the second field may itself contain spaces and brackets.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def this_process() -> Process:
    return Process(os.getpid(), began(os.getpid()))


def find_executor() -> Executor:
    """Find the executor's JVM among the parents of this process.

    Spark does not tell its Python workers which executor they belong to.
    """
    pid = os.getpid()
    for _ in range(_MOST_GENERATIONS):
        pid = _parent(pid)
        if pid <= 1:
            break
        command = _command(pid)
        if command and "java" in Path(command[0]).name:
            host = _option(command, "--hostname") or "127.0.0.1"
            name = _option(command, "--executor-id") or "driver"
            return Executor(Process(pid, began(pid)), name, host)
    return Executor(None, "unknown", "127.0.0.1")


def _option(command: list[str], name: str) -> str | None:
    places = [place for place, word in enumerate(command[:-1]) if word == name]
    return command[places[0] + 1] if places else None


def _parent(pid: int) -> int:
    if IS_LINUX:
        fields = _stat(pid)
        return int(fields[1]) if fields else 0
    return int(_ps(pid, "ppid") or 0)


def _command(pid: int) -> list[str]:
    if IS_LINUX:
        try:
            return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            return []
    return _ps(pid, "command").split()


def _ps(pid: int, field: str) -> str:
    run = subprocess.run(
        ["ps", "-o", f"{field}=", "-p", str(pid)], env=environment(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    return run.stdout.strip()
