"""Processes that outlive the program that starts them, one per folder: start, find and end them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from penstock.kafka.broker_process import launch_detached
from penstock.kafka.processes.process_folder import ProcessFolder

_STOP_TIMEOUT_S = 30.0
_KILL_TIMEOUT_S = 5.0


def find_above(file: Path, start: Path | None = None) -> Path | None:
    """Return the folder of a file that stands in this folder, or in the nearest one above.

    Args:
        file: The file, as the projects have it below their folders.
        start: Where to begin; without it, in the current folder.
    """
    here = (start or Path.cwd()).absolute()
    found = (folder / file for folder in (here, *here.parents))
    return next((each.parent for each in found if each.is_file()), None)


def start_detached(
    command: list[str],
    folder: ProcessFolder,
    lock: int,
    wait_until_ready: Callable[[subprocess.Popen[bytes]], None],
) -> None:
    """Start a process that keeps running, and wait until it is ready; else it is ended."""
    process = launch_detached(command, folder, lock)
    try:
        wait_until_ready(process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    # The process outlives this one. Without this line, Python warns that it still runs.
    process.returncode = 0


def end_detached(folder: ProcessFolder) -> bool:
    """Ask the process of a folder to end, then force it; return whether it has ended."""
    for kind, patience_s in (
        (signal.SIGTERM, _STOP_TIMEOUT_S),
        (signal.SIGKILL, _KILL_TIMEOUT_S),
    ):
        if _signal(folder, kind) and _has_ended(folder, patience_s):
            folder.pid_file.unlink(missing_ok=True)
            return True
    return False


def _signal(folder: ProcessFolder, kind: signal.Signals) -> bool:
    pid = folder.pid
    if pid is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, kind)
    return True


def _has_ended(folder: ProcessFolder, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while folder.is_in_use():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
