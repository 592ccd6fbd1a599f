"""In which order records of several queues are taken: by time, as ``PartitionGroup`` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.kernel.java_queue import JavaQueue

#: A queue's number and the times of its records.
Filled = tuple[int, Sequence[int]]
#: A queue's number, its first record of a turn and the one after its last.
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
    """Gives runs of records: the queue's number, its first record and the one after its last.

    Args:
        queues: The times of the records of each queue, in the order in which they were filled.
    """
    filled = [(number, times) for number, times in enumerate(queues) if len(times)]
    if len(filled) == 2:
        return _merge_two(*filled)
    return _merge_many(filled)


def _merge_two(one: Filled, other: Filled) -> list[Run]:
    """A queue goes on while its next record is older than the other's; the first queue begins."""
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
        # Once all others are empty nobody has to be asked any more.
        queue.at = queue.at + 1 if len(waiting) else len(queue.times)
        after = queue.at
        if queue.at < len(queue.times):
            waiting.offer(queue)
    if number >= 0:
        runs.append((number, first, after))
    return runs
