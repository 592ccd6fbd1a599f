"""What a slot is doing right now, as the driver asks for it when a stage takes long."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.task_id import TaskId


@dataclass(frozen=True, slots=True)
class Doing:
    """A task that is inside the program's functions, or a step of the slot itself."""

    task: TaskId | None
    #: Topic, partition and offset; None while records are processed together, over columns.
    record: tuple[str, int, int] | None
    #: The line of the program that runs, such as ``app.py:41 in score``; empty if there is none.
    line: str = ""
    #: What the slot does if no task is inside a function, such as ``reads records from Kafka``.
    step: str = ""

    @property
    def text(self) -> str:
        """Say it in words, for ``waiting_for``."""
        if self.step:
            return f"it {self.step}"
        where = f" ({self.line})" if self.line else ""
        if self.record is None:
            return f"task {self.task} is inside a function{where} with records of one batch"
        topic, partition, offset = self.record
        what = f"the record of topic {topic!r} partition {partition} offset {offset}"
        return f"task {self.task} is inside a function{where} with {what}"
