"""Rates and averages over Kafka's windows, told once per batch."""

from __future__ import annotations

import pytest

from penstock.model.recent import Recent, Span
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.observing.meter import Meter
from penstock.runtime.spark.exchange.measures import ages
from penstock.runtime.spark.exchange.stage_request import Report, Restore


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_window_forgets_and_a_total_does_not() -> None:
    clock = Clock()
    recent = Recent(30.0, 2, clock)
    for _ in range(10):
        recent.record(5.0)
        clock.now += 3.0
    assert recent.rate == pytest.approx(10 / 30)
    assert recent.total_rate == pytest.approx(50 / 30)
    recent.record(50.0)
    span = recent.span
    assert span is not None
    assert (span.count, span.least, span.most) == (11, 5.0, 50.0)
    clock.now += 29.0
    recent.record(1.0)
    # The first sample began 59 s ago and still counts; a second later it does not.
    assert recent.seconds == pytest.approx(59.0)
    clock.now += 2.0
    left = recent.span
    assert left is not None
    assert left.count == 2
    clock.now += 100.0
    assert recent.span is None
    assert recent.rate == 0.0
    assert recent.count == 12


def test_a_quiet_start_does_not_look_like_a_flood() -> None:
    """As in Kafka, the window is at least as long as all its samples but one."""
    recent = Recent(30.0, 2, Clock())
    recent.record(1.0)
    assert recent.rate == pytest.approx(1 / 30)


def report(task: TaskId, **given: object) -> Report:
    return Report(task=task, stage=0, slot=1, **given)  # type: ignore[arg-type]


def test_reports_are_added_up_by_task() -> None:
    clock = Clock()
    meter = Meter(30.0, 2, clock)
    first, second = TaskId(0, 0), TaskId(0, 1)
    for _ in range(3):
        meter.note(
            7,
            [
                report(first, records=10, seconds=0.5, consumed={"in": 10}, dropped={("n", "r"): 2},
                       ages={"in": Span(10, 100.0, 5.0, 20.0)}),
                report(second, records=5, seconds=0.1,
                       restores=(Restore("s", "t", 1, 0, 7, 7, 7),)),
            ],
            seconds=1.0,
            working_s=0.5,
        )  # fmt: skip
    one, two = meter.tasks[first], meter.tasks[second]
    assert (one.processed, one.consumed["in"], two.processed) == (30, 30, 15)
    assert one.dropped is not None
    assert one.dropped.count == 6
    assert two.restored is not None
    assert two.restored.count == 21
    assert one.ages["in"].span == Span(30, 300.0, 5.0, 20.0)
    assert meter.batches.count == 3
    assert meter.commits_of(1).span == Span(3, 1500.0, 500.0, 500.0)
    assert meter.commits_of(0).count == 0
    assert meter.batch_records.span == Span(3, 45, 15, 15)


def test_ages_of_lists_and_arrays_are_the_same() -> None:
    numpy = pytest.importorskip("numpy")
    times = [100, 250, 400]
    expected = Span(3, 3 * 1000 - 750, 600, 900)
    assert ages(times, 1000) == expected == ages(numpy.array(times), 1000)
    assert ages([], 1000) is None
