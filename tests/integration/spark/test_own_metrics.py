"""Sensors and reporters of a program on real Spark and real Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.serving.prometheus import to_prometheus

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


class Till(ps.Processor[Any, Any, Any, Any]):
    """Counts what it sells."""

    def init(self, context: ps.ProcessorContext[Any, Any]) -> None:
        self.sold = context.metrics().add_rate_total_sensor("till", "one", "sell")

    def process(self, record: ps.Record[Any, Any]) -> None:
        self.sold.record()


class Kept(ps.MetricsReporter):
    """Keeps the last value of each metric."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], Any] = {}
        self.is_closed = False

    def metric_change(self, metric: ps.Metric) -> None:
        self.values[metric.name, metric.tags.get("task-id", "")] = metric.value

    def close(self) -> None:
        self.is_closed = True


def test_sensors_of_stream_threads_reach_metrics_prometheus_and_reporters(
    streams_of: Callable[..., ps.KafkaStreams], new_topic: Any, produce: Any
) -> None:
    source = new_topic("sales", partitions=2)
    produce(source, *[(f"k{n}", "x") for n in range(40)])
    builder = ps.StreamsBuilder()
    builder.stream(source).process(Till)
    kept = Kept()
    config = {"metric.reporters": kept, "penstock.metric.report.interval.ms": 200}
    with streams_of(builder.build(), **config) as streams:
        assert streams.run_until_idle("300s")
        found = streams.metrics().named("sell-total", till_id="one")
    assert sum(float(metric.value) for metric in found) == 40
    assert {metric.tags["task-id"] for metric in found} == {"0_0", "0_1"}
    assert all("StreamThread-1" in metric.tags["thread-id"] for metric in found)
    assert b"# HELP kafka_stream_till_sell_total Calls of sell." in to_prometheus(found)
    assert kept.is_closed
    assert kept.values["sell-total", "0_0"] + kept.values["sell-total", "0_1"] == 40
