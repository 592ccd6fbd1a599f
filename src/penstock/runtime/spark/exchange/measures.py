"""Measurements of slots: spans of values per batch, and the state of tasks on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.task_id import TaskId


@dataclass(frozen=True, slots=True)
class Span:
    """Count, sum, minimum and maximum of some values; two spans can be added."""

    count: int
    total: float
    least: float
    most: float

    def __add__(self, other: Span) -> Span:
        """Return the span over the values of both spans."""
        return Span(
            self.count + other.count,
            self.total + other.total,
            min(self.least, other.least),
            max(self.most, other.most),
        )

    @property
    def average(self) -> float:
        return self.total / self.count


def ages(timestamps: Sequence[int], now_ms: int) -> Span | None:
    """Return the span of the records' ages in milliseconds; None if there are no records.

    A batch of columns has its timestamps in one array. There this costs almost nothing per record.

    >>> ages([100, 300], 1_000)
    Span(count=2, total=1600, least=700, most=900)
    """
    count = len(timestamps)
    if not count:
        return None
    if hasattr(timestamps, "sum"):
        array: Any = timestamps
        total, least, most = int(array.sum()), int(array.min()), int(array.max())
    else:
        total, least, most = sum(timestamps), min(timestamps), max(timestamps)
    return Span(count, count * now_ms - total, now_ms - most, now_ms - least)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMeasures:
    """The state of one task, measured on request."""

    task: TaskId
    slot: int
    cache_bytes: int = 0
    #: By store: how many reads its record cache answered, and how many it did not.
    cache_reads: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: By store: RocksDB's properties under Kafka Streams' names.
    databases: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: How many batches ran over columns.
    column_batches: int = 0
    #: How many batches ran record at a time, by reason.
    record_batches: Mapping[str, int] = field(default_factory=dict)
    #: Why the task never runs over columns; empty if it does.
    never_columns: str = ""
