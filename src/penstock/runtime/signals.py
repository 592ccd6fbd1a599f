"""What SIGTERM and Ctrl-C do while an application runs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: How long a thread waits at a stretch. The system may give a signal to any thread, but Python
#: calls its handler in the main one, and only when that one wakes up.
_STRETCH_S = 0.5


@contextmanager
def on_signals(close: Callable[[], None]) -> Iterator[None]:
    """Call ``close`` at SIGTERM and Ctrl-C inside the ``with`` block.

    Only the main thread receives signals: in another one, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def received(number: int, frame: Any) -> None:
        close()

    former = {number: signal.signal(number, received) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def wait_awake(
    changed: threading.Condition, holds: Callable[[], bool], seconds: float | None = None
) -> bool:
    """Wait like ``Condition.wait_for``; signals are handled meanwhile, whoever receives them."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while not holds():
        left_s = _STRETCH_S if deadline is None else deadline - time.monotonic()
        if left_s <= 0:
            return False
        changed.wait(min(left_s, _STRETCH_S))
    return True


def wait_until_set(event: threading.Event) -> None:
    """Wait for an event, so that signals are handled meanwhile, whoever receives them."""
    while not event.wait(_STRETCH_S):
        pass
