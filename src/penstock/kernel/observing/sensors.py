"""The sensors of a task, which its processors add: ``penstock.processor.metrics`` has the face."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from threading import Lock
from typing import get_args

from penstock.errors import InvalidArgumentError
from penstock.model.metric import Metric, MetricName
from penstock.model.recent import Recent
from penstock.model.site import caller_site
from penstock.processor.metrics import RecordingLevel, Sensor, Stat

_LEVELS = [level.value for level in RecordingLevel]
_STATS: tuple[str, ...] = get_args(Stat)


class TaskSensor:
    """Values of the last samples, and their sum, number and last one since the start."""

    def __init__(
        self, name: str, recent: Recent, parents: tuple[Sensor, ...], sensors: TaskSensors,
        *, is_recording: bool,
    ) -> None:  # fmt: skip
        self._name = name
        self._recent, self._parents, self._sensors = recent, parents, sensors
        self._is_recording = is_recording
        self._total, self._last = 0.0, math.nan
        #: User code may record on threads of its own.
        self._lock = Lock()
        #: By name: what a metric says, and what it is about.
        self._shown: dict[MetricName, tuple[Stat, str]] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def parents(self) -> tuple[Sensor, ...]:
        return self._parents

    def should_record(self) -> bool:
        return self._is_recording

    def record(self, value: float = 1.0) -> None:
        if not self._is_recording:
            return
        with self._lock:
            self._recent.record(value)
            self._total += value
            self._last = value
        for parent in self._parents:
            parent.record(value)

    def add(
        self,
        name: str,
        stat: Stat,
        *,
        group: str = "stream-metrics",
        description: str = "",
        **tags: str,
    ) -> Sensor:
        if stat not in _STATS:
            raise InvalidArgumentError(
                "unknown-stat",
                f"sensor {self._name!r} cannot show {stat!r}",
                fix=f"use one of {', '.join(map(repr, _STATS))}",
                at=caller_site(),
            )
        wanted = Metric(name, group, 0.0, _with_dashes(tags)).metric_name
        owner = self._sensors.owner_of(wanted)
        if owner is not None and owner is not self:
            raise InvalidArgumentError(
                "duplicate-metric",
                f"sensor {self._name!r} cannot show the metric {name!r}: sensor {owner.name!r}"
                " shows one of that name, group and tags",
                fix="give one of them another name or another tag",
                at=caller_site(),
            )
        self._shown.setdefault(wanted, (stat, description))
        return self

    def shows(self, metric: MetricName) -> bool:
        return metric in self._shown

    def metrics(self) -> list[Metric]:
        """Return the present values; a sensor below the recording level has none."""
        if not self._is_recording:
            return []
        with self._lock:
            return [
                Metric(at.name, at.group, self._value(stat), dict(at.tags), description)
                for at, (stat, description) in self._shown.items()
            ]

    def _value(self, stat: Stat) -> float:
        span, recent = self._recent.span, self._recent
        match stat:
            case "avg":
                return math.nan if span is None else span.average
            case "max":
                return math.nan if span is None else span.most
            case "min":
                return math.nan if span is None else span.least
            case "rate":
                return recent.total_rate
            case "count-rate":
                return recent.rate
            case "total":
                return self._total
            case "count":
                return recent.count
            case "value":
                return self._last


class TaskSensors:
    """All sensors of a task, by name.

    It outlives the processors of a task that are made again, so that a total does not go back.

    Args:
        level: The application's ``metrics.recording.level``.
        samples: The length of a sample in seconds, and how many there are.
        clock: Returns seconds.
    """

    def __init__(self, level: str, samples: tuple[float, int], clock: Callable[[], float]) -> None:
        self._level, self._samples, self._clock = _LEVELS.index(level), samples, clock
        self._sensors: dict[str, TaskSensor] = {}

    def add_sensor(
        self,
        name: str,
        level: RecordingLevel | str = RecordingLevel.INFO,
        *parents: Sensor,
    ) -> Sensor:
        return self._sensor(name, level, parents)

    def add_rate_total_sensor(
        self,
        scope: str,
        entity: str,
        operation: str,
        level: RecordingLevel | str = RecordingLevel.INFO,
        **tags: str,
    ) -> Sensor:
        sensor = self._sensor(f"entity.{scope}.{entity}.s.{operation}", level, ())
        group, own = f"stream-{scope}-metrics", {f"{scope}_id": entity, **tags}
        sensor.add(
            f"{operation}-rate", "count-rate", group=group,
            description=f"Calls of {operation} a second.", **own,
        )  # fmt: skip
        sensor.add(
            f"{operation}-total", "count", group=group, description=f"Calls of {operation}.", **own
        )
        return sensor

    def add_latency_rate_total_sensor(
        self,
        scope: str,
        entity: str,
        operation: str,
        level: RecordingLevel | str = RecordingLevel.INFO,
        **tags: str,
    ) -> Sensor:
        sensor = self.add_rate_total_sensor(scope, entity, operation, level, **tags)
        group, own = f"stream-{scope}-metrics", {f"{scope}_id": entity, **tags}
        sensor.add(
            f"{operation}-latency-avg", "avg", group=group,
            description=f"Average latency of {operation}.", **own,
        )  # fmt: skip
        sensor.add(
            f"{operation}-latency-max", "max", group=group,
            description=f"Longest latency of {operation}.", **own,
        )  # fmt: skip
        return sensor

    def remove_sensor(self, sensor: Sensor) -> None:
        self._sensors.pop(sensor.name, None)
        children = [each for each in self._sensors.values() if sensor in each.parents]
        for child in children:
            self.remove_sensor(child)

    def metrics(self) -> Mapping[MetricName, Metric]:
        found = (metric for sensor in [*self._sensors.values()] for metric in sensor.metrics())
        return {metric.metric_name: metric for metric in found}

    def owner_of(self, metric: MetricName) -> TaskSensor | None:
        """Return the sensor that shows a metric."""
        return next((each for each in self._sensors.values() if each.shows(metric)), None)

    def _sensor(
        self, name: str, level: RecordingLevel | str, parents: tuple[Sensor, ...]
    ) -> TaskSensor:
        found = self._sensors.get(name)
        if found is None:
            is_recording = _LEVELS.index(_level(level)) <= self._level
            recent = Recent(*self._samples, self._clock)
            found = TaskSensor(name, recent, parents, self, is_recording=is_recording)
            self._sensors[name] = found
        return found


def _level(given: RecordingLevel | str) -> str:
    text = given.value if isinstance(given, RecordingLevel) else given
    if text not in _LEVELS:
        raise InvalidArgumentError(
            "unknown-recording-level",
            f"there is no recording level {given!r}",
            fix=f"use one of {', '.join(f'RecordingLevel.{level}' for level in _LEVELS)}",
            at=caller_site(),
        )
    return text


def _with_dashes(tags: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): text for name, text in tags.items()}
