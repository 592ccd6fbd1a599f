"""Measurements of slots: the ages of a batch's records, and the state of tasks on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.latencies import sampled, spread
from penstock.model.metric import Metric
from penstock.model.recent import Span
from penstock.model.task_id import TaskId


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
    sample = sampled([now_ms - int(each) for each in spread(timestamps)], count)
    return Span(count, count * now_ms - total, now_ms - most, now_ms - least, sample)


@dataclass(frozen=True, slots=True)
class OperationTimes:
    """How often one operation of a store was called lately, and how long that took."""

    rate: float
    average_ns: float
    most_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMeasures:
    """The operations of one store by their Kafka Streams name, and its open iterators."""

    operations: Mapping[str, OperationTimes]
    open_iterators: int = 0
    #: When the oldest open iterator was opened, in milliseconds since 1970; None without one.
    oldest_iterator_ms: int | None = None
    is_persistent: bool = True
    #: For a buffer: average and most of its ``count`` and of its ``size`` in bytes, after batches.
    buffered: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMeasures:
    """The state of one task, measured on request."""

    task: TaskId
    slot: int
    cache_bytes: int = 0
    #: By store: how many reads its record cache answered, and how many it did not.
    cache_reads: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: By store: RocksDB's properties and, at DEBUG, its counters, under Kafka Streams' names.
    databases: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: By store: how long its operations take, if that is measured.
    stores: Mapping[str, StoreMeasures] = field(default_factory=dict)
    #: By node: its records, and its nanoseconds without those of the nodes behind it.
    nodes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: How many batches ran over columns.
    column_batches: int = 0
    #: How many batches ran record at a time, by reason.
    record_batches: Mapping[str, int] = field(default_factory=dict)
    #: Why the task never runs over columns; empty if it does.
    never_columns: str = ""
    #: The metrics of the sensors that the task's processors have added.
    sensors: tuple[Metric, ...] = ()
