"""Sensors of processors: what they show, from which level on, and until when."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.kernel.observing.sensors import TaskSensors
from penstock.processor.metrics import RecordingLevel, Stat


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def sensors(level: str = "INFO", clock: Clock | None = None) -> TaskSensors:
    return TaskSensors(level, (30.0, 2), clock or Clock())


def shown(found: TaskSensors) -> dict[str, Any]:
    return {name.name: metric.value for name, metric in found.metrics().items()}


def test_a_sensor_of_rate_and_total_has_kafkas_names_group_and_tags() -> None:
    found = sensors()
    sensor = found.add_rate_total_sensor("shop", "north", "sell", till_id="7")
    for _ in range(60):
        sensor.record(5)
    rate, total = found.metrics().values()
    assert (rate.name, rate.group, rate.value) == ("sell-rate", "stream-shop-metrics", 2.0)
    assert (total.name, total.value) == ("sell-total", 60)
    assert total.tags == {"shop-id": "north", "till-id": "7"}
    assert total.description == "Calls of sell."


def test_a_sensor_of_latencies_shows_average_and_longest_of_the_last_samples() -> None:
    clock = Clock()
    found = sensors(clock=clock)
    sensor = found.add_latency_rate_total_sensor("shop", "north", "pay")
    for value in (1.0, 2.0, 9.0):
        sensor.record(value)
    assert shown(found)["pay-latency-avg"] == 4.0
    assert shown(found)["pay-latency-max"] == 9.0
    clock.now += 120
    assert math.isnan(shown(found)["pay-latency-max"])
    assert shown(found)["pay-rate"] == 0.0
    assert shown(found)["pay-total"] == 3


@given(st.lists(st.integers(-1_000, 1_000), min_size=1, max_size=50))
def test_each_stat_is_what_its_name_says(values: list[int]) -> None:
    found = sensors()
    sensor = found.add_sensor("queue")
    stats: tuple[Stat, ...] = ("avg", "max", "min", "rate", "count-rate", "total", "count", "value")
    for stat in stats:
        sensor.add(f"length-{stat}", stat)
    for value in values:
        sensor.record(value)
    assert shown(found) == {
        "length-avg": sum(values) / len(values),
        "length-max": max(values),
        "length-min": min(values),
        "length-rate": sum(values) / 30,
        "length-count-rate": len(values) / 30,
        "length-total": sum(values),
        "length-count": len(values),
        "length-value": values[-1],
    }


@pytest.mark.parametrize(
    ("level", "names"),
    [("INFO", {"a"}), ("DEBUG", {"a", "b"}), ("TRACE", {"a", "b", "c"})],
)
def test_the_recording_level_decides_what_is_recorded(level: str, names: set[str]) -> None:
    """A sensor above the level costs one comparison, and shows nothing."""
    found = sensors(level)
    for name, own in (("a", RecordingLevel.INFO), ("b", RecordingLevel.DEBUG), ("c", "TRACE")):
        sensor = found.add_sensor(name, own).add(name, "count")
        sensor.record()
        assert sensor.should_record() is (name in names)
    assert shown(found) == dict.fromkeys(names, 1)


def test_parents_record_what_their_children_record() -> None:
    found = sensors()
    all_shops = found.add_sensor("all").add("all", "total")
    found.add_sensor("north", "INFO", all_shops).add("north", "total").record(2)
    found.add_sensor("south", "INFO", all_shops).record(3)
    assert shown(found) == {"all": 5, "north": 2}


def test_the_same_sensor_is_handed_out_again_and_keeps_its_total() -> None:
    """A processor that is made again asks for the sensors that it had."""
    found = sensors()
    found.add_rate_total_sensor("shop", "north", "sell").record()
    found.add_rate_total_sensor("shop", "north", "sell").record()
    assert shown(found)["sell-total"] == 2


def test_a_removed_sensor_is_gone_with_its_children() -> None:
    found = sensors()
    parent = found.add_sensor("all").add("all", "total")
    found.add_sensor("north", "INFO", parent).add("north", "total")
    found.add_sensor("other").add("other", "count")
    found.remove_sensor(parent)
    assert shown(found) == {"other": 0}


def test_two_sensors_cannot_show_the_same_metric() -> None:
    found = sensors()
    found.add_sensor("one").add("length", "max", shop="n")
    found.add_sensor("two").add("length", "max", shop="s")
    with pytest.raises(InvalidArgumentError, match="sensor 'one' shows one of that name"):
        found.add_sensor("three").add("length", "avg", shop="n")


def test_unknown_stats_and_levels_are_named_with_those_that_exist() -> None:
    found = sensors()
    with pytest.raises(InvalidArgumentError, match="cannot show 'mean'") as caught:
        found.add_sensor("one").add("length", "mean")  # type: ignore[arg-type]
    assert "'avg'" in str(caught.value.fix)
    with pytest.raises(InvalidArgumentError, match="no recording level 'WARN'"):
        found.add_sensor("two", "WARN")
