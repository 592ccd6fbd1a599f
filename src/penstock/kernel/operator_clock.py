"""The stream time of one operator, and up to which time it has emitted final results."""

from __future__ import annotations

from typing import Protocol

#: The stream time before the first record.
NO_TIME = -1


class ClosingRule(Protocol):
    """Says which windows close when."""

    def closed_starts(self, close_time: int, last_close_time: int | None) -> range: ...


class OperatorClock:
    """The highest timestamp of the records that have reached one node of one task.

    Operators do not use their task's stream time: if a filter drops records before an operator, the
    operator's clock stays back, and its windows stay open longer. ``last_close_time`` is the close
    time up to which final results were emitted. All three values are saved with the task's commits.
    """

    __slots__ = ("last_close_time", "next_time_to_emit", "stream_time")

    def __init__(self) -> None:
        self.stream_time = NO_TIME
        self.last_close_time = NO_TIME
        self.next_time_to_emit = 0

    def advance(self, timestamp: int) -> int:
        """Advance to the timestamp if it is later; return the stream time."""
        if timestamp > self.stream_time:
            self.stream_time = timestamp
        return self.stream_time

    def is_time_to_emit(self, close_time: int, now: int, interval_ms: int) -> bool:
        """Tell whether final results are due; if so, the next time is one interval from ``now``.

        That holds also if nothing can be emitted. After a jump of the wall clock there is one
        emission, not one for each interval that was missed.
        """
        if now < self.next_time_to_emit:
            return False
        self.next_time_to_emit = now + interval_ms
        return self.last_close_time == NO_TIME or self.last_close_time < close_time

    def newly_closed(self, rule: ClosingRule, close_time: int, now: int, interval_ms: int) -> range:
        """Return the starts of the windows that have closed since the last emission, if it is due.

        The caller emits them: they count as emitted from now on.
        """
        if not self.is_time_to_emit(close_time, now, interval_ms):
            return range(0)
        last = None if self.last_close_time == NO_TIME else self.last_close_time
        starts = rule.closed_starts(close_time, last)
        if starts:
            self.last_close_time = close_time
        return starts
