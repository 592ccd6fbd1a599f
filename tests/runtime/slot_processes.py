"""Slot servers in processes of their own, below a shell that goes by the name of Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes.process_tree import Process, began

SECRET = b"s" * 32
#: Libraries that start threads when they are imported would forbid a fork.
_NO_THREADS = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OMP_NUM_THREADS": "1"}
_WORKER = """
import json, sys, threading
from penstock.runtime.spark.worker.processes.spawn import start_server
if sys.argv[1] == "threads":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print(json.dumps(start_server(bytes.fromhex(sys.argv[2]), 3)), flush=True)
"""


class Started(NamedTuple):
    """A server, its endpoint, and the process that stands for Spark's executor."""

    process: Process
    endpoint: Endpoint
    executor: Process


@contextmanager
def executor(kind: str = "plain") -> Iterator[Started]:
    """Have a Python worker of an executor start a server, and end the worker.

    Args:
        kind: "threads" for a worker that has a second thread, and so cannot be copied.
    """
    script = '"$PYTHON" -c "$WORKER" "$KIND" "$SECRET"; read end'
    given = {"PYTHON": sys.executable, "WORKER": _WORKER, "KIND": kind, "SECRET": SECRET.hex()}
    with subprocess.Popen(
        ["java", "-c", script, "x", "--executor-id", "7", "--hostname", "127.0.0.1"],
        executable="/bin/sh", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, **_NO_THREADS, **given},
    ) as shell:  # fmt: skip
        assert shell.stdout is not None
        line = shell.stdout.readline()
        assert line, "the worker has failed"
        process, endpoint = json.loads(line)
        started = Started(
            Process(*process), Endpoint(*endpoint), Process(shell.pid, began(shell.pid))
        )
        try:
            yield started
        finally:
            started.process.kill()
            shell.kill()


def happens(claim: Callable[[], bool], within_s: float) -> bool:
    """Wait until something is true; false if it is not in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if claim():
            return True
        time.sleep(0.05)
    return claim()
