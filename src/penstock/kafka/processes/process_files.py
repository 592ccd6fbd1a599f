"""The files of a Java process that Penstock starts: its lock, the end of its log, its numbers."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_LOCK = "lock"


def locked(folder: Path) -> int | None:
    """Lock a folder, and return the open file, which the process inherits.

    Return None if another process has the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def is_locked(folder: Path) -> bool:
    """Tell whether a process runs, starts or stops in a folder."""
    try:
        with open(folder / _LOCK, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def tail_of(log: Path, lines: int = 15) -> str:
    """Return the end of a log, indented for an error message."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "    (no log was written)"
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


def number_in(file: Path) -> int | None:
    """Return the number that a file holds; None if there is none."""
    try:
        return int(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
