"""Callbacks on a schedule, which processors ask for with ``ProcessorContext.schedule``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.kernel.java_queue import JavaQueue
from penstock.processor.context import Punctuator

#: Runs one callback, given node, time and callback. The task sets the record context for it.
Punctuate = Callable[[str, int, Punctuator], None]
#: A node that has scheduled a callback, and the time when that is due next.
NodeTime = tuple[str, int]


class Schedule:
    """One scheduled callback, and the handle that cancels it."""

    __slots__ = ("anchor", "callback", "interval_ms", "is_cancelled", "node", "time")

    def __init__(
        self,
        node: str,
        time: int,
        interval_ms: int,
        callback: Punctuator,
        anchor: int | None = None,
    ) -> None:
        self.node = node
        #: The start time that the user asked for; ``None`` if the schedule has none.
        self.anchor = anchor
        self.time = time
        self.interval_ms = interval_ms
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        """Stop the callback for good; it may be called from the callback, and more than once."""
        self.is_cancelled = True

    def fits(self, time: int) -> bool:
        """Tell whether a saved time belongs to this schedule: if it is anchored, to its grid."""
        return self.anchor is None or time < 0 or (time - self.anchor) % self.interval_ms == 0

    def move_past(self, now: int) -> None:
        """Move to the next time on the schedule's grid; skip times that were missed."""
        missed = (now - self.time) // self.interval_ms
        self.time += (missed + 1) * self.interval_ms


def _time(schedule: Schedule) -> int:
    return schedule.time


class PunctuationQueue:
    """The schedules of a task that follow one clock. The caller says what time it is.

    A stream-time schedule starts at 0, so the first record fires it. A schedule that is due fires
    once, with the time of the clock, not with the time when it was due. Among schedules that are
    due at the same time, the order is that of Java.
    """

    def __init__(self) -> None:
        self._queue: JavaQueue[Schedule] = JavaQueue(_time)
        self._made: list[Schedule] = []
        #: Whether anything was ever scheduled. It is read after every record, so it is not a
        #: function.
        self.is_used = False

    def schedule(
        self,
        node: str,
        first: int,
        interval_ms: int,
        callback: Punctuator,
        *,
        is_anchored: bool = False,
    ) -> Schedule:
        """Fire when the clock reaches ``first``, and every ``interval_ms`` after that.

        ``is_anchored`` says that the user chose ``first``. Times that a run with another start time
        has saved do not replace it.
        """
        anchor = first if is_anchored else None
        schedule = Schedule(node, first, interval_ms, callback, anchor)
        self._queue.offer(schedule)
        self._made.append(schedule)
        self.is_used = True
        return schedule

    def times(self) -> list[NodeTime]:
        """Return when each schedule is due next, in order of creation; -1 if cancelled."""
        return [(each.node, -1 if each.is_cancelled else each.time) for each in self._made]

    def set_times(self, noted: Sequence[NodeTime | int]) -> None:
        """Set the schedules, which a restarted task has created again, to their saved times.

        Nothing changes unless the saved schedules begin with those of the same nodes. There may be
        more of them, made while records were processed. An earlier release saved times without
        nodes; those go to the schedules in turn.
        """
        made = [schedule.node for schedule in self._made]
        nodes = [None if isinstance(each, int) else each[0] for each in noted[: len(made)]]
        if any(nodes) and nodes != made:
            return
        times = [each if isinstance(each, int) else each[1] for each in noted]
        self._queue = JavaQueue(_time)
        for schedule, time in zip(self._made, times, strict=False):
            if schedule.fits(time):
                schedule.time, schedule.is_cancelled = time, time < 0
        for schedule in self._made:
            if not schedule.is_cancelled:
                self._queue.offer(schedule)

    def run_due(self, now: int, punctuate: Punctuate) -> bool:
        """Run what is due, and what becomes due meanwhile; return true if anything was."""
        queue, has_run = self._queue, False
        while (due := queue.peek()) is not None and due.time <= now:
            queue.poll()
            if due.is_cancelled:
                continue
            punctuate(due.node, now, due.callback)
            has_run = True
            if not due.is_cancelled:
                due.move_past(now)
                queue.offer(due)
        return has_run

    def next_time(self) -> int | None:
        """Return when the next callback is due, or ``None``; forget cancelled schedules."""
        while (first := self._queue.peek()) is not None and first.is_cancelled:
            self._queue.poll()
        return None if first is None else first.time
