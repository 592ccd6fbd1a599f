"""Sensors of processors in the test driver and in the mock context."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Processor, ProcessorContext, Record, StreamsBuilder
from penstock.testing import MockProcessorContext, TopologyTestDriver


class Till(Processor[str, str, str, str]):
    """Counts what it sells, and measures each amount at DEBUG."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.sold = context.metrics().add_rate_total_sensor("till", "one", "sell")
        self.amount = context.metrics().add_latency_rate_total_sensor("till", "one", "pay", "DEBUG")

    def process(self, record: Record[str, str]) -> None:
        self.sold.record()
        self.amount.record(int(record.value))


def program() -> Any:
    builder = StreamsBuilder()
    builder.stream("in", key="string", value="string").process(Till)
    return builder.build()


@pytest.mark.parametrize("partitions", [{}, {"in": 2}])
def test_the_test_driver_shows_the_metrics_of_each_task(partitions: dict[str, int]) -> None:
    with TopologyTestDriver(program(), num_partitions=partitions) as driver:
        for partition in range(max(partitions.values(), default=1)):
            driver.pipe_input("in", "k", "3", partition=partition)
        found = {
            (metric.name, metric.tags["task-id"]): metric.value
            for metric in driver.metrics().values()
        }
    tasks = {"0_0"} if not partitions else {"0_0", "0_1"}
    assert {name for name, _ in found} == {"sell-rate", "sell-total"}
    assert {(task, found["sell-total", task]) for task in tasks} == {(task, 1) for task in tasks}


def test_debug_sensors_record_at_debug() -> None:
    config = {"metrics.recording.level": "DEBUG"}
    with TopologyTestDriver(program(), config) as driver:
        driver.pipe("in", "3", "5")
        found = {metric.name: metric.value for metric in driver.metrics().values()}
    assert (found["pay-latency-avg"], found["pay-latency-max"], found["pay-total"]) == (4, 5, 2)


def test_a_processor_alone_has_sensors_too() -> None:
    context = MockProcessorContext()
    processor = context.start(Till())
    processor.process(Record("k", "3", timestamp=5))
    found = {name.name: metric.value for name, metric in context.metrics().metrics().items()}
    assert found["sell-total"] == 1
