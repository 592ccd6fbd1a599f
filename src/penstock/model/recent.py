"""Measured values of the last spans of time: the average, the maximum and the rate of metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.model.latencies import NO_LATENCIES, Latencies


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
