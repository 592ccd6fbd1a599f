"""Start slot servers on an executor, and find those that already run on this host."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import select
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.process_tree import (
    IS_LINUX,
    Executor,
    Process,
    began,
    find_executor,
)
from penstock.runtime.spark.worker.slot_server import serve_forever

_START_S = 60.0
_PR_SET_NAME = 15


class Entry(NamedTuple):
    """The entry of one slot server in this host's registry."""

    process: Process
    endpoint: Endpoint
    generation: int


class HostRegistry:
    """A file per slot in a private folder that says which process on this host runs the slot.

    That process has the slot's databases open. If it does not answer any more, it must be ended
    before another process opens them. The folder holds no secret.
    """

    def __init__(self, application_id: str, state_dir: str, number: int) -> None:
        digest = hashlib.sha256(f"{application_id}|{state_dir}".encode()).hexdigest()[:16]
        self._path = private_folder() / f"{digest}-{number}.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold a file lock, so that only one task at a time looks for a server or starts one."""
        handle = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def read(self) -> Entry | None:
        """Return the server that was started last, if its process is still there."""
        try:
            read = json.loads(self._path.read_text())
            entry = Entry(Process(*read[0]), Endpoint(*read[1]), read[2])
        except (OSError, ValueError, TypeError, IndexError):
            return None
        return entry if entry.process.is_alive else None

    def write(self, entry: Entry) -> None:
        text = json.dumps([entry.process, entry.endpoint, entry.generation])
        fresh = self._path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self._path)


def private_folder() -> Path:
    """Return a folder that this user owns and that only this user can read."""
    folder = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise StreamsError(
            "foreign-folder",
            f"the folder {str(folder)!r} belongs to another user",
            fix="delete it, or give this user a temporary folder of its own (TMPDIR)",
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def start_server(secret: bytes, number: int) -> tuple[Process, Endpoint]:
    """Start a slot server on this host; return its process and endpoint once it listens."""
    executor = find_executor()
    if IS_LINUX and len(os.listdir("/proc/self/task")) == 1:
        return _forked(secret, executor, number)
    return _spawned(secret, executor)


def _forked(secret: bytes, executor: Executor, number: int) -> tuple[Process, Endpoint]:
    """Fork a server from this process, so that it has all modules already imported.

    This is safe only if this process has a single thread.
    """
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        # After a second fork the server is not a child of Spark's worker. So the worker does not
        # have to wait for its end.
        os.setsid()
        if os.fork():
            os._exit(0)
        _detach(writable)
        _set_name(f"penstock-slot{number}")
        serve_forever(secret, executor, lambda endpoint: _tell(writable, endpoint))
    os.close(writable)
    os.waitpid(child, 0)
    with open(readable, encoding="utf-8") as told:
        return _told(told.fileno())


def _spawned(secret: bytes, executor: Executor) -> tuple[Process, Endpoint]:
    """Start a server in a new interpreter, which has to import all modules first."""
    given = json.dumps([secret.hex(), executor, sys.path])
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.runtime.spark.worker.slot_process"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(given.encode())
    process.stdin.close()
    return _told(process.stdout.fileno())


def _detach(keep: int) -> None:
    """Close the files that were inherited from Spark's worker, such as its connection to the JVM.

    Args:
        keep: the file descriptor that stays open.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    highest = max((int(name) for name in os.listdir("/proc/self/fd")), default=256)
    for number in range(3, highest + 1):
        if number != keep:
            with contextlib.suppress(OSError):
                os.close(number)


def _set_name(name: str) -> None:
    """Set the name that ``ps`` and ``top`` show for this process: at most fifteen characters."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name[:15].encode(), 0, 0, 0)


def _tell(handle: int, endpoint: Endpoint) -> None:
    os.write(handle, json.dumps([os.getpid(), *endpoint]).encode() + b"\n")
    os.close(handle)


def _told(handle: int) -> tuple[Process, Endpoint]:
    data = b""
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([handle], [], [], _START_S)
        more = os.read(handle, 4096) if ready else b""
        if not more:
            raise StreamsError(
                "worker-lost",
                "a process for a slot was started and ended, or does not come up",
                fix="see the executor's standard error",
            )
        data += more
    pid, *endpoint = json.loads(data)
    return Process(pid, began(pid)), Endpoint(*endpoint)
