"""The leader's side of a batch, without Spark: what happens when calls of two threads meet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

import penstock as ps
from penstock.runtime.spark.driver.batch_runner import BatchRunner
from penstock.runtime.spark.exchange.batch_log import BatchPlan, LogState
from tests.runtime.memory_kafka import MemoryKafka
from tests.runtime.staged import StagedApplication

PLAN = BatchPlan(0, {("in", 0): 0}, {("in", 0): 1}, 0, {})


class SlowPlanner:
    """Takes its time for a plan: until it is let go."""

    is_behind = True

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.may_go_on = threading.Event()

    def next(self) -> BatchPlan:
        self.is_asked.set()
        self.may_go_on.wait(10)
        return PLAN


class Query:
    """Ends, as Spark's does, when its call to the driver has returned."""

    isActive = True  # noqa: N815 - Spark's name

    def __init__(self, driver: BatchRunner, planner: SlowPlanner) -> None:
        self._thread = threading.Thread(target=driver.on_batch, args=(None, 0), daemon=True)
        self._thread.start()
        self._planner = planner
        self.has_ended = False

    def stop(self) -> None:
        self._planner.may_go_on.set()
        self._thread.join(5)
        self.has_ended = not self._thread.is_alive()


@pytest.fixture
def staged() -> Iterator[StagedApplication]:
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    kafka = MemoryKafka()
    for topic in ("in", "out"):
        kafka.create(topic)
    application = StagedApplication(builder.build().graph, {"application.id": "app"}, kafka)
    yield application
    application.close()


def test_a_batch_that_is_planned_while_the_application_closes_does_not_keep_it(
    staged: StagedApplication,
) -> None:
    """It does not begin any more, and the query can end."""
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(broadcast=lambda value: value))
    log: Any = SimpleNamespace(state=LogState())
    planner = SlowPlanner()
    driver = BatchRunner(
        spark, staged.application, log, cast("Any", None), None, 1, cast("Any", planner)
    )
    driver._is_warm.set()
    query = Query(driver, planner)
    assert planner.is_asked.wait(10)
    driver.stop(cast("Any", query))
    assert query.has_ended
    assert driver.progress.batches == 0
