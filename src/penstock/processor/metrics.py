"""Metrics of one's own: sensors of processors, and reporters that receive every metric.

What counts a sensor's values: ``penstock.kernel.observing.sensors``. What calls reporters:
``penstock.runtime.spark.driver.observing.reporting``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Protocol

from penstock.model.metric import Metric, MetricName

#: What a metric says of a sensor's values: ``avg``, ``max`` and ``min`` are over the last samples,
#: ``rate`` is their sum per second and ``count-rate`` their number per second; ``total``, ``count``
#: and ``value`` are the sum, the number and the last of all values.
Stat = Literal["avg", "max", "min", "rate", "count-rate", "total", "count", "value"]


class RecordingLevel(Enum):
    """From which ``metrics.recording.level`` on a sensor records."""

    INFO = "INFO"
    DEBUG = "DEBUG"
    TRACE = "TRACE"


class Sensor(Protocol):
    """Takes values, and shows them as metrics."""

    @property
    def name(self) -> str: ...

    def should_record(self) -> bool:
        """Return whether ``metrics.recording.level`` includes this sensor."""
        ...

    def record(self, value: float = 1.0) -> None:
        """Add a value to the sensor and its parents; without effect below the recording level."""

    def add(
        self,
        name: str,
        stat: Stat,
        *,
        group: str = "stream-metrics",
        description: str = "",
        **tags: str,
    ) -> Sensor:
        """Show a metric of the values, and return the sensor.

        A tag such as ``shop-id`` is written ``shop_id``. ``task-id`` and ``thread-id`` are always
        there.
        """
        ...


class StreamsMetrics(Protocol):
    """The sensors of a task. Asking for the same sensor twice returns the first one."""

    def add_sensor(
        self,
        name: str,
        level: RecordingLevel | str = RecordingLevel.INFO,
        *parents: Sensor,
    ) -> Sensor:
        """Return a sensor without metrics, for ``Sensor.add``; its parents record its values."""
        ...

    def add_rate_total_sensor(
        self,
        scope: str,
        entity: str,
        operation: str,
        level: RecordingLevel | str = RecordingLevel.INFO,
        **tags: str,
    ) -> Sensor:
        """Return a sensor that shows how often it records: ``-rate`` and ``-total``.

        Args:
            scope: The kind of what is measured: ``stream-<scope>-metrics`` is the group.
            entity: What is measured; the tag ``<scope>-id`` has it.
            operation: What happens; the names of the metrics begin with it.
            level: From which recording level on it records.
            tags: More tags; ``shop_id`` is ``shop-id``.
        """
        ...

    def add_latency_rate_total_sensor(
        self,
        scope: str,
        entity: str,
        operation: str,
        level: RecordingLevel | str = RecordingLevel.INFO,
        **tags: str,
    ) -> Sensor:
        """As ``add_rate_total_sensor``, and the values as ``-latency-avg`` and ``-latency-max``."""
        ...

    def remove_sensor(self, sensor: Sensor) -> None:
        """Forget a sensor and its metrics, and the sensors whose parent it is."""

    def metrics(self) -> Mapping[MetricName, Metric]:
        """Return the metrics of the task's sensors as they are now."""
        ...


class MetricsReporter(ABC):
    """Receives the metrics of an application while it runs: a value of ``metric.reporters``.

    It is called in the program that started the application, by one thread, every
    ``penstock.metric.report.interval.ms``. An error of it is logged, and ends nothing.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027 - optional
        """Receive the settings of the application, before anything else."""

    def init(self, metrics: Sequence[Metric]) -> None:
        """Receive the metrics that there are when the application runs for the first time."""
        for metric in metrics:
            self.metric_change(metric)

    @abstractmethod
    def metric_change(self, metric: Metric) -> None:
        """Receive a metric that is new, or has another value than last time."""

    def metric_removal(self, metric: Metric) -> None:  # noqa: B027 - optional
        """Receive the last value of a metric that is no longer there."""

    def close(self) -> None:  # noqa: B027 - optional
        """The application has ended."""
