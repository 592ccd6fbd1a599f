"""An application for which Spark has no core says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.driver.executors import core_watch as module
from penstock.runtime.spark.driver.executors.core_watch import CoreWatch


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)


def watch(master: str, executors: int, said: list[str | None]) -> CoreWatch:
    tracker = SimpleNamespace(getExecutorInfos=lambda: [None] * (executors + 1))
    scala = SimpleNamespace(statusTracker=lambda: tracker)
    context: Any = SimpleNamespace(
        _jsc=SimpleNamespace(sc=lambda: scala), getConf=lambda: {"spark.master": master}
    )
    return CoreWatch(context, said.append)


@pytest.mark.parametrize(("master", "executors"), [("local[2]", 0), ("yarn", 2)])
def test_waiting_for_a_core_is_told_and_taken_back(
    master: str, executors: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says it once, and ``waiting_for`` as long as it lasts."""
    said: list[str | None] = []
    looking = watch(master, executors, said)
    looking.look()
    looking.look()
    looking.over()
    looking.over()
    assert ["all its cores are busy" in str(each) for each in said] == [True, True, False]
    assert said[-1] is None
    assert len(caplog.records) == 1


def test_a_cluster_without_executors_is_not_short_of_cores() -> None:
    said: list[str | None] = []
    looking = watch("yarn", 0, said)
    looking.look()
    looking.over()
    assert said == []


def test_a_short_wait_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 60.0)
    said: list[str | None] = []
    watch("local[2]", 0, said).look()
    assert said == []
