"""Reporters hear of every metric once, and then of every change, until the application ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from penstock.config import StreamsConfig
from penstock.errors import ConfigError, InvalidStateError
from penstock.model.metric import Metric, MetricName
from penstock.processor.metrics import MetricsReporter
from penstock.runtime.settings import for_workers
from penstock.runtime.spark.driver.observing.reporting import Reporting


class Heard(MetricsReporter):
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.calls.append(("configure", configs["application.id"]))

    def init(self, metrics: Sequence[Metric]) -> None:
        self.calls.append(("init", sorted(metric.name for metric in metrics)))

    def metric_change(self, metric: Metric) -> None:
        self.calls.append(("change", (metric.name, metric.value)))

    def metric_removal(self, metric: Metric) -> None:
        self.calls.append(("removal", metric.name))

    def close(self) -> None:
        self.calls.append(("close", None))


class Failing(Heard):
    def metric_change(self, metric: Metric) -> None:
        raise OSError("the network is away")


def config(reporters: Any) -> StreamsConfig:
    return StreamsConfig(
        {
            "application.id": "a",
            "metric.reporters": reporters,
            "penstock.metric.report.interval.ms": 10,
        }
    )


def table(**values: float) -> dict[MetricName, Metric]:
    metrics = [Metric(name, "stream-metrics", value) for name, value in values.items()]
    return {metric.metric_name: metric for metric in metrics}


def run(config: StreamsConfig, *rounds: dict[MetricName, Metric] | Exception) -> None:
    """Report round after round; the last one stays."""
    left = list(rounds)

    def collect() -> Mapping[MetricName, Metric]:
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, Exception):
            raise now
        return now

    reporting = Reporting(config, collect)
    reporting.start()
    wait_until(lambda: len(left) == 1)
    reporting.stop()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_reporter_hears_of_all_then_of_changes_and_of_the_end() -> None:
    heard = Heard()
    nan = math.nan
    run(
        config(heard),
        InvalidStateError("not-running", "it starts", "wait"),
        table(a=1, b=2, c=nan),
        table(a=1, b=3, c=nan, d=4),
        table(a=1, d=4),
    )
    assert heard.calls[:4] == [
        ("configure", "a"), ("init", ["a", "b", "c"]), ("change", ("b", 3)), ("change", ("d", 4)),
    ]  # fmt: skip
    assert sorted(heard.calls[4:-1]) == [("removal", "b"), ("removal", "c")]
    assert heard.calls[-1] == ("close", None)


def test_a_failing_reporter_keeps_neither_the_others_nor_the_application(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing, heard = Failing(), Heard()
    run(config([failing, heard]), table(a=1), table(a=2))
    assert ("change", ("a", 2)) in heard.calls
    assert failing.calls[-1] == ("close", None)
    assert "the network is away" in caplog.text


def test_a_class_is_made_into_a_reporter() -> None:
    reporting = Reporting(config(Heard), dict)
    (made,) = reporting._reporters
    assert isinstance(made, Heard)


def test_what_is_no_reporter_is_refused_before_the_start() -> None:
    with pytest.raises(ConfigError, match=r"metric\.reporters") as caught:
        Reporting(config(["org.apache.kafka.JmxReporter"]), dict)
    assert "penstock.MetricsReporter" in str(caught.value.fix)


def test_without_reporters_nothing_is_asked() -> None:
    def collect() -> Mapping[MetricName, Metric]:
        raise AssertionError("metrics were collected")

    reporting = Reporting(StreamsConfig({"application.id": "a"}), collect)
    reporting.start()
    reporting.stop()


def test_reporters_stay_in_the_program_that_started_the_application() -> None:
    """They have sockets and files, which cannot go to workers."""
    assert "metric.reporters" not in for_workers(config(Heard()))
