"""Lets the wall clock close windows while no record does."""

from __future__ import annotations

from collections.abc import Callable

from penstock.kernel.operator_clock import NO_TIME, OperatorClock
from penstock.kernel.services import TaskServices
from penstock.processor.context import PunctuationType

#: How often the wall clock is looked at: a few times in the time to wait, at most once a second.
_LOOKS, _LONGEST_MS = 4, 1_000


class IdleTime:
    """Moves the stream time of an operator on with the wall clock, ``idle_ms`` behind it.

    This begins when no record has moved stream time for ``idle_ms``. From then on, stream time
    grows by one second per second, so a quiet minute does not close a window that ends in an hour.
    A record for a window that was closed in this way is late, as if another record had closed it.
    """

    def __init__(self, clock: OperatorClock, idle_ms: int) -> None:
        self._clock = clock
        self._idle_ms = idle_ms
        #: The stream time that records have reached, and the wall clock when that was noticed.
        self._reached = NO_TIME
        self._noticed_ms = 0
        #: The stream time that this object has set.
        self._moved = NO_TIME

    def passed(self, now: int) -> bool:
        """Read the wall clock; return whether it has moved stream time."""
        clock = self._clock
        if clock.stream_time == NO_TIME:
            return False
        if clock.stream_time not in (self._reached, self._moved):
            self._reached, self._noticed_ms, self._moved = clock.stream_time, now, NO_TIME
            return False
        time = self._reached + now - self._noticed_ms - self._idle_ms
        if time <= clock.stream_time:
            return False
        self._moved = clock.advance(time)
        return True


def watch_idle(
    task: TaskServices, node: str, clock: OperatorClock, idle_ms: int, close: Callable[[int], None]
) -> None:
    """Call ``close`` with the stream time whenever the wall clock has moved it on.

    The commit of a task saves stream time, so that windows which closed stay closed. A task that
    starts again waits for ``idle_ms`` again.
    """
    idle = IdleTime(clock, idle_ms)

    def look(now: int) -> None:
        if idle.passed(now):
            close(clock.stream_time)

    interval_ms = max(min(idle_ms // _LOOKS, _LONGEST_MS), 1)
    task.schedule(node, interval_ms, PunctuationType.WALL_CLOCK_TIME, look)
