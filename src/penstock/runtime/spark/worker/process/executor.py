"""Find the Spark executor that this process belongs to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from penstock.kafka.machine import environment

_IS_LINUX = sys.platform.startswith("linux")
_MOST_GENERATIONS = 12


class Executor(NamedTuple):
    """A Spark executor: its id and its host name."""

    name: str
    host: str


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
            return Executor(_option(command, "--executor-id") or "driver", host)
    return Executor("unknown", "127.0.0.1")


def is_below_python() -> bool:
    """Tell whether a Python process has started this one, as Spark's daemon does."""
    command = _command(os.getppid())
    return bool(command) and "python" in Path(command[0]).name


def _option(command: list[str], name: str) -> str | None:
    places = [place for place, word in enumerate(command[:-1]) if word == name]
    return command[places[0] + 1] if places else None


def _parent(pid: int) -> int:
    if not _IS_LINUX:
        return int(_ps(pid, "ppid") or 0)
    try:
        # The name in the second field may itself contain spaces and brackets.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _command(pid: int) -> list[str]:
    if _IS_LINUX:
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
