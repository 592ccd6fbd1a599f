"""An application without a pool: one Spark job per stage, with one task per slot."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.runtime.spark.driver import stage_jobs as module
from penstock.runtime.spark.driver.placement import Placement
from penstock.runtime.spark.driver.stage_jobs import OwnJobs
from penstock.runtime.spark.exchange.stage_request import Endpoint, Outcome, StageRequest
from penstock.runtime.spark.worker.slot_task import SlotTask

ENDPOINT = Endpoint("server", "127.0.0.1", 1, "driver")


class Context:
    """Runs the tasks of a job here, and notes what Spark is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []
        self.tasks: list[SlotTask] = []
        self._slots: list[int] = []

    def broadcast(self, value: bytes) -> Any:
        self.told.append(("broadcast", value.decode()))
        return SimpleNamespace(unpersist=lambda: self.told.append(("unpersist",)))

    def setJobGroup(self, group: str, title: str) -> None:  # noqa: N802 - Spark's name
        self.told.append(("group", group, title))

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802
        self.told.append(("cancel", group))

    def parallelize(self, numbers: range, slices: int) -> Any:
        self._slots = list(numbers)
        return SimpleNamespace(mapPartitions=self._job)

    def _job(self, task: SlotTask) -> Any:
        self.tasks.append(task)
        outcomes = [Outcome(slot=number, endpoint=ENDPOINT) for number in self._slots]
        return SimpleNamespace(collect=lambda: outcomes)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> tuple[Context, Placement, OwnJobs]:
    packed: Callable[[Any], bytes] = lambda application: b"packed"  # noqa: E731
    monkeypatch.setattr(module, "packed", packed)
    context = Context()
    placement = Placement(cast("Any", context))
    application = SimpleNamespace(
        id="app", key="app-2-x", state_dir="/state", generation=2,
        config={"application.id": "app"},
        plan=SimpleNamespace(graph=SimpleNamespace(stores={})),
    )  # fmt: skip
    spark = SimpleNamespace(sparkContext=context)
    return context, placement, OwnJobs(*cast("Any", (spark, application, placement, b"secret")))


def test_a_stage_is_one_job_with_a_task_for_each_slot(
    made: tuple[Context, Placement, OwnJobs],
) -> None:
    """The task knows the servers that the driver knows; the application is sent once."""
    context, placement, jobs = made
    placement.note([Outcome(slot=1, endpoint=ENDPOINT)])
    request = StageRequest(batch=1, stage=0, slots=2, clock_ms=0)
    outcomes = jobs.run("run", request, "batch 1")
    assert [outcome.slot for outcome in outcomes] == [0, 1]
    (task,) = context.tasks
    assert (task.kind, task.request, task.endpoints) == ("run", request, {1: ENDPOINT})
    assert (task.key, task.generation) == ("app-2-x", 2)
    jobs.run("run", request, "batch 2")
    assert context.told == [
        ("broadcast", "packed"),
        ("group", "penstock-app-2-x", "batch 1"),
        ("group", "penstock-app-2-x", "batch 2"),
    ]


def test_a_job_is_cancelled_by_its_group_and_the_broadcast_goes_with_the_run(
    made: tuple[Context, Placement, OwnJobs],
) -> None:
    """Jobs of other applications in the same session go on."""
    context, _, jobs = made
    jobs.cancel()
    jobs.close()
    assert context.told[1:] == [("cancel", "penstock-app-2-x"), ("unpersist",)]
