"""Measurements of slots: spans of values per batch, and the state of tasks on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.latencies import NO_LATENCIES, Latencies, sampled, spread
from penstock.model.task_id import TaskId


@dataclass(frozen=True, slots=True)
class Span:
    """Count, sum, minimum and maximum of some values; two spans can be added."""

    count: int
    total: float
    least: float
    most: float
    #: A histogram of the values, for ages of records.
    sample: Latencies = field(default=NO_LATENCIES, repr=False, compare=False)

    def __add__(self, other: Span) -> Span:
        """Return the span over the values of both spans, without a histogram."""
        return Span(
            self.count + other.count,
            self.total + other.total,
            min(self.least, other.least),
            max(self.most, other.most),
        )

    @property
    def average(self) -> float:
        return self.total / self.count


class Recent:
    """The values of the last spans of time, and how many there have ever been."""

    def __init__(self, sample_s: float, samples: int, clock: Callable[[], float]) -> None:
        self._sample_s = max(sample_s, 0.001)
        self._samples = samples
        self._clock = clock
        self._spans: list[tuple[float, Span]] = []
        self.count = 0

    def add(self, values: Span) -> None:
        self.count += values.count
        now = self._clock()
        if self._spans and now - self._spans[-1][0] < self._sample_s:
            since, before = self._spans[-1]
            self._spans[-1] = since, before + values
        else:
            self._spans = [*self._live(now), (now, values)][-self._samples :]

    def record(self, value: float) -> None:
        self.add(Span(1, value, value, value))

    def _live(self, now: float) -> list[tuple[float, Span]]:
        oldest = now - self._sample_s * self._samples
        return [each for each in self._spans if each[0] > oldest]

    @property
    def span(self) -> Span | None:
        """The span of the values in the window; None if there are no values."""
        found = [span for _, span in self._live(self._clock())]
        return sum(found[1:], found[0]) if found else None

    @property
    def seconds(self) -> float:
        """The length of the window. As in Kafka, all of its samples but the newest are whole."""
        now = self._clock()
        live = self._live(now)
        passed = now - live[0][0] if live else 0.0
        return max(passed, self._sample_s * (self._samples - 1), 0.001)

    @property
    def rate(self) -> float:
        """The number of values per second."""
        span = self.span
        return 0.0 if span is None else span.count / self.seconds

    @property
    def total_rate(self) -> float:
        """The sum of the values per second."""
        span = self.span
        return 0.0 if span is None else span.total / self.seconds


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
    #: By store: RocksDB's properties under Kafka Streams' names.
    databases: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
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
