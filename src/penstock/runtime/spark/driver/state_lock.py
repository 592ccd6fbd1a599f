"""Allows one driver per state directory of a machine; the lock file names its process."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from penstock.errors import StoreError


class StateLock:
    """Is held from ``acquire`` to ``release``, or until the process ends in any way."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / ".lock"
        self._handle: int | None = None

    def acquire(self, *, group_may_write: bool = False) -> None:
        """Lock the directory, and create it if it is missing. A second call changes nothing.

        Raises:
            StoreError: ``state-locked`` with the process that has it, or ``bad-state-dir`` if the
                directory cannot be created or written.
        """
        if self._handle is not None:
            # A start that waits for Kafka calls this again.
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
            if group_may_write:
                self._path.parent.chmod(0o770)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as error:
            raise StoreError(
                "bad-state-dir",
                f"state directory {str(self._path.parent)!r} cannot be used:"
                f" {error.strerror or error}",
                fix="set state.dir to a folder that this user can write",
            ) from None
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
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid()}).encode(), 0)

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _pid(content: bytes) -> str:
    try:
        return str(json.loads(content)["pid"])
    except (ValueError, KeyError):
        return "unknown"
