"""The time that one operator has seen, and what it has emitted because of it."""

from __future__ import annotations

#: What a clock shows before its first record.
NO_TIME = -1


class OperatorClock:
    """Stream time of one node in one task: the highest timestamp of the records that reached it.

    Operators do not share their task's stream time: a filter before an operator keeps its clock
    back, and so keeps its windows open. ``last_close_time`` is the close time up to which final
    results were emitted. A task that moves may carry all three values along.
    """

    __slots__ = ("last_close_time", "next_time_to_emit", "stream_time")

    def __init__(self) -> None:
        self.stream_time = NO_TIME
        self.last_close_time = NO_TIME
        self.next_time_to_emit = 0

    def advance(self, timestamp: int) -> int:
        """Moves forward, never back; gives the stream time."""
        if timestamp > self.stream_time:
            self.stream_time = timestamp
        return self.stream_time

    def is_time_to_emit(self, close_time: int, now: int, interval_ms: int) -> bool:
        """Tells whether final results are due, and puts the next time off.

        The next time counts from ``now``, also when nothing can be emitted: after a jump of the
        wall clock there is one emission, not one for each interval missed.
        """
        if now < self.next_time_to_emit:
            return False
        self.next_time_to_emit = now + interval_ms
        return self.last_close_time == NO_TIME or self.last_close_time < close_time
