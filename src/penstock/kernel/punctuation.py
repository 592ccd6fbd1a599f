"""Callbacks on a schedule. What user code asks for: ``ProcessorContext.schedule``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.kernel.java_queue import JavaQueue
from penstock.processor.context import Punctuator

#: Runs one callback: node, time, callback. The task sets the record context around it.
Punctuate = Callable[[str, int, Punctuator], None]
#: A node that has scheduled a callback, and when that is due next.
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
        #: The start time that the user asked for, None if the schedule has none.
        self.anchor = anchor
        self.time = time
        self.interval_ms = interval_ms
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        """Stops the callback for good; also from inside the callback, and more than once."""
        self.is_cancelled = True

    def fits(self, time: int) -> bool:
        """Return whether a noted time belongs to this schedule: to its anchor's grid, if any."""
        return self.anchor is None or time < 0 or (time - self.anchor) % self.interval_ms == 0

    def move_past(self, now: int) -> None:
        """Moves to the next time on the schedule's grid; times that were missed are skipped."""
        missed = (now - self.time) // self.interval_ms
        self.time += (missed + 1) * self.interval_ms


def _time(schedule: Schedule) -> int:
    return schedule.time


class PunctuationQueue:
    """The schedules of a task that follow one clock; the queue itself knows no time.

    A stream-time schedule starts at 0, so that the first record fires it. What is due fires once,
    with the time of the clock, not with the time it was due. Among schedules that are due at the
    same time the order is Java's.
    """

    def __init__(self) -> None:
        self._queue: JavaQueue[Schedule] = JavaQueue(_time)
        self._made: list[Schedule] = []
        #: Whether anything was ever scheduled: asked after every record, so it costs no call.
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
        """Fires when the clock reaches ``first``, and every ``interval_ms`` from there.

        ``is_anchored`` says that the user chose ``first``: times noted by an earlier run with
        another start time do not replace it.
        """
        anchor = first if is_anchored else None
        schedule = Schedule(node, first, interval_ms, callback, anchor)
        self._queue.offer(schedule)
        self._made.append(schedule)
        self.is_used = True
        return schedule

    def times(self) -> list[NodeTime]:
        """When each schedule is due next, in the order they were made; -1 once cancelled."""
        return [(each.node, -1 if each.is_cancelled else each.time) for each in self._made]

    def set_times(self, noted: Sequence[NodeTime | int]) -> None:
        """Puts schedules that were made anew back to where they stood.

        Changes nothing unless the schedules that were noted begin with those of the same nodes:
        there may be more, made while records were processed. Times without nodes are those of an
        earlier release, which go to the schedules in turn.
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
        """Runs what is due, and what becomes due meanwhile; true if anything was."""
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
        """When the next callback is due, None if there is none; forgets cancelled ones."""
        while (first := self._queue.peek()) is not None and first.is_cancelled:
            self._queue.poll()
        return None if first is None else first.time
