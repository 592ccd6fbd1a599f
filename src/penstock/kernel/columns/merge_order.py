"""The order in which a task takes the records of several queues: by time, as ``PartitionGroup``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.kernel.java_queue import JavaQueue

#: A queue's number and the timestamps of its records.
Filled = tuple[int, Sequence[int]]
#: A queue's number, the first record of a run and the one after its last.
Run = tuple[int, int, int]


class _Queue:
    __slots__ = ("at", "number", "times")

    def __init__(self, number: int, times: Sequence[int]) -> None:
        self.number = number
        self.times = times
        self.at = 0

    def time(self) -> int:
        return self.times[self.at]


def merge_order(queues: Sequence[Sequence[int]]) -> list[Run]:
    """Return runs: records of one queue without a record of another queue in between.

    Args:
        queues: The timestamps of each queue's records. Queues are in the order in which they were
            filled, which decides between equal timestamps.
    """
    filled = [(number, times) for number, times in enumerate(queues) if len(times)]
    if len(filled) == 2:
        return _merge_two(*filled)
    return _merge_many(filled)


def runs_among(runs: Sequence[Run], chosen: Sequence[int]) -> list[Run]:
    """Return the runs of some queues, which are numbered by their places in ``chosen``."""
    places = {number: place for place, number in enumerate(chosen)}
    return [(places[number], *span) for number, *span in runs if number in places]  # type: ignore[misc]


def _merge_two(one: Filled, other: Filled) -> list[Run]:
    """Merge two queues: records come from one while they are older than the other's next."""
    runs: list[Run] = []
    here: list[Any] = [*one, 0]
    there: list[Any] = [*other, 0]
    if there[1][0] < here[1][0]:
        here, there = there, here
    while True:
        (number, times, first), bound = here, there[1][there[2]]
        after = first + 1
        while after < len(times) and times[after] < bound:
            after += 1
        runs.append((number, first, after))
        if after == len(times):
            runs.append((there[0], there[2], len(there[1])))
            return runs
        here[2] = after
        here, there = there, here


def _merge_many(filled: Sequence[Filled]) -> list[Run]:
    waiting: JavaQueue[_Queue] = JavaQueue(_Queue.time)
    for number, times in filled:
        waiting.offer(_Queue(number, times))
    runs: list[Run] = []
    number, first, after = -1, 0, 0
    while len(waiting):
        queue = waiting.poll()
        if queue.number != number:
            if number >= 0:
                runs.append((number, first, after))
            number, first = queue.number, queue.at
        # If all other queues are empty, the rest of this one is a single run.
        queue.at = queue.at + 1 if len(waiting) else len(queue.times)
        after = queue.at
        if queue.at < len(queue.times):
            waiting.offer(queue)
    if number >= 0:
        runs.append((number, first, after))
    return runs
