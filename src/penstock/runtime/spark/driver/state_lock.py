"""One owner per state directory on a machine: the lock file says who, and how many slots it had."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from penstock.errors import StoreError


class StateLock:
    """Held from ``acquire`` to ``release``; it ends with the process, whatever ends that."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / ".lock"
        self._handle: int | None = None
        self._before = 0

    def acquire(self, *, group_may_write: bool = False) -> None:
        """Takes the directory, or raises with the process that has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        if group_may_write:
            self._path.parent.chmod(0o770)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        content = os.read(handle, 1000)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise StoreError(
                "state-locked",
                f"state directory {str(self._path.parent)!r} is in use by process {_pid(content)}",
                fix="stop that process, or give this one another state.dir or application.id",
            ) from error
        self._handle = handle
        self._before = _slots(content)

    def slots_before(self, slots: int) -> int:
        """How many slots the last owner had; notes how many this one has."""
        assert self._handle is not None
        os.ftruncate(self._handle, 0)
        text = json.dumps({"pid": os.getpid(), "slots": slots}).encode()
        os.pwrite(self._handle, text, 0)
        return self._before

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _pid(content: bytes) -> str:
    try:
        return str(json.loads(content)["pid"])
    except (ValueError, KeyError):
        return "unknown"


def _slots(content: bytes) -> int:
    try:
        return int(json.loads(content)["slots"])
    except (ValueError, KeyError):
        return 0
