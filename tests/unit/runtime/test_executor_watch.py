"""An application without executors says so, and does not wait without limit."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.executors import executor_watch as module
from penstock.runtime.spark.driver.executors.executor_watch import ExecutorWatch

#: Longer than a cluster with room needs to replace an executor.
LONG_S = 15.0


class Cluster:
    """A Spark context whose executors a test brings and takes away, and a clock."""

    def __init__(self, master: str = "yarn", timeout_s: float = 60.0) -> None:
        self.executors = 0
        self.now_s = 1_000.0
        self.said: list[str | None] = []
        tracker = SimpleNamespace(getExecutorInfos=lambda: [None] * (self.executors + 1))
        scala = SimpleNamespace(statusTracker=lambda: tracker)
        context: Any = SimpleNamespace(
            _jsc=SimpleNamespace(sc=lambda: scala), getConf=lambda: {"spark.master": master}
        )
        self.watch = ExecutorWatch(context, self.said.append, timeout_s)

    def monotonic(self) -> float:
        return self.now_s

    def look_after(self, seconds: float) -> None:
        self.now_s += seconds
        self.watch.look()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(module, "time", made)
    return made


def test_a_wait_without_executors_is_told(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Spark itself would only log it, and with its log at ERROR not even that."""
    cluster.look_after(0.0)
    cluster.look_after(5.0)
    assert cluster.said == []
    with caplog.at_level(logging.WARNING):
        cluster.look_after(LONG_S)
        cluster.look_after(1.0)
    assert "no executor for 20 s: yarn gives it none" in str(cluster.said[0])
    assert "for 21 s" in str(cluster.said[1])
    assert len(caplog.records) == 1


def test_the_wait_is_over_when_an_executor_comes(cluster: Cluster) -> None:
    """What it waited for is told no longer, and the next wait begins from nothing."""
    cluster.look_after(0.0)
    cluster.look_after(LONG_S)
    cluster.executors = 1
    cluster.look_after(1.0)
    assert cluster.said[-1] is None
    cluster.executors = 0
    before = len(cluster.said)
    cluster.look_after(LONG_S)
    cluster.look_after(5.0)
    assert len(cluster.said) == before


def test_a_wait_that_was_ended_by_a_thread_is_over(cluster: Cluster) -> None:
    """The executor may have come and gone between two looks."""
    cluster.look_after(0.0)
    cluster.look_after(LONG_S)
    cluster.watch.over()
    assert cluster.said[-1] is None
    cluster.watch.over()
    assert cluster.said.count(None) == 1


def test_a_wait_that_was_too_long_is_given_up(cluster: Cluster) -> None:
    """The error says what is missing, not only that something did not come."""
    cluster.look_after(0.0)
    with pytest.raises(StreamsError, match="for 61 s") as raised:
        cluster.look_after(61.0)
    assert raised.value.code == "no-executors"
    assert cluster.said[-1] is None
    cluster.look_after(5.0)


def test_executors_that_are_there_are_nothing_to_tell(cluster: Cluster) -> None:
    cluster.executors = 2
    for _ in range(3):
        cluster.look_after(60.0)
    assert cluster.said == []


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]"])
def test_one_machine_needs_no_executors(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Cluster(master)
    monkeypatch.setattr(module, "time", made)
    made.look_after(0.0)
    made.look_after(600.0)
    assert made.said == []
