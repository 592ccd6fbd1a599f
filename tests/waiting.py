"""Wait until something is true."""

from __future__ import annotations

import time
from collections.abc import Callable


def happens(claim: Callable[[], bool], within_s: float) -> bool:
    """Wait until something is true; false if it is not in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if claim():
            return True
        time.sleep(0.05)
    return claim()
