"""Starts slot servers, and finds those that are there: what a Spark task does on its executor."""

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
    """What this host knows of the server of a slot."""

    process: Process
    endpoint: Endpoint
    generation: int


class HostRegistry:
    """A file per slot in a private folder: which process on this host runs it.

    The folder holds no secret. It says which process has the slot's databases open, so that one
    that no longer answers can be ended before another takes them.
    """

    def __init__(self, application_id: str, state_dir: str, number: int) -> None:
        digest = hashlib.sha256(f"{application_id}|{state_dir}".encode()).hexdigest()[:16]
        self._path = private_folder() / f"{digest}-{number}.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let one task at a time look and start."""
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
    """A folder that only this user can read, and that nobody else has put there."""
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
    """Start a slot server beside this process and return it when it listens."""
    executor = find_executor()
    if IS_LINUX and len(os.listdir("/proc/self/task")) == 1:
        return _forked(secret, executor, number)
    return _spawned(secret, executor)


def _forked(secret: bytes, executor: Executor, number: int) -> tuple[Process, Endpoint]:
    """Copy this process, with all that it has imported; only a process of one thread may."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        # A second fork: the server is nobody's child, so nobody has to wait for its end.
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
    """Start a new interpreter, which has to import everything first."""
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
    """Let go of the files of Spark's worker, above all of its connection to the JVM."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    highest = max((int(name) for name in os.listdir("/proc/self/fd")), default=256)
    for number in range(3, highest + 1):
        if number != keep:
            with contextlib.suppress(OSError):
                os.close(number)


def _set_name(name: str) -> None:
    """Name the process in the system's lists; they show fifteen characters."""
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
