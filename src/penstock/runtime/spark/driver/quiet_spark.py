"""Starts Spark's JVM without the lines that it prints at every start and that say nothing."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

#: Parts of lines that Java and Spark print at every start, before the level of logging is known.
_NOISE = (
    b"WARNING: Using incubator modules",
    b"Using Spark's default log4j profile",
    b"Setting default log level to",
    b"To adjust logging level use sc.setLogLevel",
    b"Setting Spark log level to",
    b"WARN Utils: Your hostname,",
    b"WARN Utils: Set SPARK_LOCAL_IP if you need to bind",
    b"WARN NativeCodeLoader: Unable to load native-hadoop library",
)
_STDERR = 2


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Leave out known lines of what processes print that are started inside the ``with`` block.

    They inherit a pipe as their standard error, and all other lines are passed on as long as they
    run. Nothing changes where this process has no standard error.
    """
    try:
        own = os.dup(_STDERR)
    except OSError:
        yield
        return
    readable, writable = os.pipe()
    os.dup2(writable, _STDERR)
    os.close(writable)
    threading.Thread(
        target=_pass_on, args=(readable, own), name="penstock-stderr", daemon=True
    ).start()
    try:
        yield
    finally:
        # The pipe lives on in the processes that have inherited it.
        os.dup2(own, _STDERR)


def _pass_on(readable: int, own: int) -> None:
    with open(readable, "rb", buffering=0) as lines, open(own, "wb", buffering=0) as out:
        rest = b""
        while data := lines.read(65536):
            *whole, rest = (rest + data).split(b"\n")
            with contextlib.suppress(OSError):
                for line in whole:
                    if not any(each in line for each in _NOISE):
                        out.write(line + b"\n")
        with contextlib.suppress(OSError):
            out.write(rest)
