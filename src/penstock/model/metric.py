"""A measured value under Kafka Streams' name, group and tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, order=True, slots=True)
class MetricName:
    """Kafka's name of a metric: ``name`` within ``group``, for the things that ``tags`` name."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """One value at one moment. Text values, such as a state, are labels in Prometheus' form."""

    name: str
    group: str
    value: float | str
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""

    @property
    def metric_name(self) -> MetricName:
        return MetricName(self.name, self.group, tuple(sorted(self.tags.items())))

    def tagged(self, tags: Mapping[str, str]) -> Metric:
        """Return the metric with more tags, which come first; its own win."""
        return replace(self, tags={**tags, **self.tags})
