"""Actions that are due later, run by the test's one loop and therefore in its main thread."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from itertools import count


class Schedule:
    """What has to be undone or continued later: restarts, and the ends of pauses."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._due)

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Run an action when this much time has passed."""
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), action))

    def run_due(self) -> None:
        """Run the actions whose time has come."""
        while self._due and self._due[0][0] <= time.monotonic():
            heapq.heappop(self._due)[2]()

    def run_all(self) -> None:
        """Run every action now, in the order of their times."""
        while self._due:
            heapq.heappop(self._due)[2]()
