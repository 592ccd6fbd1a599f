"""The tags of executors, from the environment of their hosts: ``executor_tags``, ``tags_task``."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.runtime.spark.driver.executors import executor_tags as module
from penstock.runtime.spark.driver.executors.copy_places import ExecutorId, Tags
from penstock.runtime.spark.driver.executors.executor_tags import ExecutorTags, run_on
from penstock.runtime.spark.standby.tags_task import TagsTask

A, B = ExecutorId("h1", "1"), ExecutorId("h2", "2")


class Executors:
    """Executors that answer, unless they are busy."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.busy: set[str] = set()

    def __call__(self, wanted: Sequence[ExecutorId], task: TagsTask) -> list[tuple[str, Tags]]:
        self.asked.append([each.name for each in wanted])
        free = [each.name for each in wanted if each.name not in self.busy]
        return [(name, {"zone": f"zone-{name}"}) for name in free]


def test_an_executor_is_asked_once() -> None:
    executors = Executors()
    tags = ExecutorTags(executors, ["zone"])
    assert tags.of([A]) == {"1": {"zone": "zone-1"}}
    assert tags.of([A, B]) == {"1": {"zone": "zone-1"}, "2": {"zone": "zone-2"}}
    assert tags.of([B]) == {"2": {"zone": "zone-2"}}
    assert executors.asked == [["1"], ["2"]]


def test_a_busy_executor_is_not_known_and_is_asked_again() -> None:
    executors = Executors()
    executors.busy = {"2"}
    tags = ExecutorTags(executors, ["zone"])
    assert set(tags.of([A, B])) == {"1"}
    executors.busy = set()
    assert set(tags.of([A, B])) == {"1", "2"}


def test_without_tags_nobody_is_asked() -> None:
    executors = Executors()
    assert ExecutorTags(executors, []).of([A, B]) == {"1": {}, "2": {}}
    assert executors.asked == []


def test_the_task_reads_the_environment_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CLIENT_TAG_ZONE", "a")
    monkeypatch.setenv("PENSTOCK_CLIENT_TAG_ROW", "")
    task = TagsTask({"zone": "PENSTOCK_CLIENT_TAG_ZONE", "row": "PENSTOCK_CLIENT_TAG_ROW"})
    [(executor, tags)] = task([])
    assert executor in ("unknown", "driver")
    assert tags == {"zone": "a"}


def test_spark_is_asked_to_run_the_task_where_the_executors_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted: list[Any] = []

    def placed(context: Any, hosts: Any) -> Any:
        wanted.append(hosts)
        return SimpleNamespace(
            mapPartitions=lambda task: SimpleNamespace(collect=lambda: [("1", {"zone": "a"})])
        )

    monkeypatch.setattr(module, "placed", placed)
    context = SimpleNamespace(setJobGroup=lambda group, title: wanted.append((group, title)))
    found = run_on(cast(Any, context), "group", "tags")([A, B], TagsTask({}))
    assert found == [("1", {"zone": "a"})]
    assert wanted == [("group", "tags"), ["executor_h1_1", "executor_h2_2"]]
