"""Work in a thread that does not keep the process from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")


def begun(work: Callable[[], _Result], name: str) -> Future[_Result]:
    """Begin the work in a daemon thread; the future has its result, or its error.

    A ``ThreadPoolExecutor`` would make Python wait for the thread when the process ends, and the
    thread may wait for a broker that is away.
    """
    done: Future[_Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done
