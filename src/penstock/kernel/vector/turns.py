"""In which order records of several queues are taken: by time, as ``PartitionGroup`` does."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.kernel.java_queue import JavaQueue


class _Queue:
    __slots__ = ("at", "number", "times")

    def __init__(self, number: int, times: Sequence[int]) -> None:
        self.number = number
        self.times = times
        self.at = 0

    def time(self) -> int:
        return self.times[self.at]


def turns(queues: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """Gives runs of records: the queue's number, its first record and the one after its last.

    Args:
        queues: The times of the records of each queue, in the order in which they were filled.
    """
    waiting: JavaQueue[_Queue] = JavaQueue(_Queue.time)
    for number, times in enumerate(queues):
        if len(times):
            waiting.offer(_Queue(number, times))
    runs: list[tuple[int, int, int]] = []
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
