"""What SIGTERM and Ctrl-C do while an application runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
