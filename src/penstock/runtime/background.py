"""Work in a thread that does not keep the process from ending, and ends that always end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")

log = logging.getLogger(__name__)


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


def end_each(*steps: Callable[[], object] | None) -> None:
    """Take every step of an end, whatever the steps before it have raised: that is logged."""
    for step in steps:
        try:
            if step is not None:
                step()
        except Exception:
            log.exception("a part of the application could not be ended cleanly")
