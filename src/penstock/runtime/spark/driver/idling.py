"""Waits for inputs that have no data: ``max.task.idle.ms``, as in Kafka Streams.

A task that joins two topics processes their records in order of time. While one of them is empty,
its next record may be the older one. So a task can be told to wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.model.topic_partition import TopicPartition


class Idling:
    """Delays the inputs of a task for a while if another input of the task is empty.

    Args:
        tasks: for each task the partitions it reads.
        patience_ms: how long to wait for the empty input; 0 or less means not at all.
    """

    def __init__(self, tasks: Sequence[Sequence[TopicPartition]], patience_ms: int) -> None:
        self._tasks = tasks if patience_ms > 0 else ()
        self._patience_ms = patience_ms
        #: By task: when it was first seen with only some of its inputs.
        self._since: dict[int, int] = {}

    def held_back(
        self, start: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], now_ms: int
    ) -> dict[TopicPartition, int]:
        """Return the ends up to which a batch may read now.

        Args:
            start: where tasks begin to read; partitions that the batch leaves out are missing. To a
                task that takes part, such an input is empty.
        """
        allowed = dict(ends)
        for number, parts in enumerate(self._tasks):
            waiting = [part for part in parts if part in start and ends[part] > start[part]]
            if len(waiting) in (0, len(parts)):
                self._since.pop(number, None)
            elif now_ms - self._since.setdefault(number, now_ms) < self._patience_ms:
                allowed |= {part: start[part] for part in waiting}
        return allowed
