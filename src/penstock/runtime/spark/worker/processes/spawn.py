"""Start slot servers on an executor. Which ones run on this host: ``host_registry``."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import subprocess
import sys

from penstock.errors import StreamsError
from penstock.kafka.machine import environment
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes.process_tree import (
    IS_LINUX,
    Executor,
    Process,
    began,
    find_executor,
)
from penstock.runtime.spark.worker.slot_server import serve_forever

_START_S = 60.0
_PR_SET_NAME = 15


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
        [sys.executable, "-m", "penstock.runtime.spark.worker.processes.slot_process"],
        env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
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
