"""Starts and ends the process that tells the driver that a stream thread's process runs."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from penstock.kafka.machine import environment
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.process import pulse_process

log = logging.getLogger(__name__)

_PROGRAM = str(Path(pulse_process.__file__))


@contextlib.contextmanager
def pulse(driver: Endpoint, secret: bytes, server: str) -> Iterator[None]:
    """Let the driver see, inside the ``with`` block, whether this process runs or is stopped.

    Without such a process, as on systems that do not show the state of processes as files, a thread
    counts as lost when it is silent for too long.
    """
    if not Path("/proc/self/stat").exists():
        yield
        return
    given = {"host": driver.host, "port": driver.port, "secret": secret.hex(), "server": server}
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", _PROGRAM], env=environment(), stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        log.warning("no process can be started that tells that this one is alive: %s", error)
        yield
        return
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(given).encode())
        process.stdin.close()
    try:
        yield
    finally:
        process.kill()
        process.wait()
