"""The name of a task: sub-topology and partition."""

from __future__ import annotations

from typing import NamedTuple


class TaskId(NamedTuple):
    """Partition ``partition`` of sub-topology ``subtopology``; prints as Kafka's ``1_3``."""

    subtopology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"

    @staticmethod
    def parse(text: str) -> TaskId:
        """Return the task id that a text such as ``0_2`` stands for."""
        subtopology, _, partition = text.partition("_")
        return TaskId(int(subtopology), int(partition))
