"""An application without executors says so, and does not wait without limit."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.executors import executor_watch as module
from penstock.runtime.spark.driver.executors.executor_watch import ExecutorWatch


class Cluster:
    """A Spark context whose executors a test brings and takes away, and one job."""

    def __init__(self, master: str = "yarn", timeout_s: float = 60.0) -> None:
        self.executors = 0
        self.said: list[str | None] = []
        self.is_told, self.is_cancelled = threading.Event(), threading.Event()
        tracker = SimpleNamespace(getExecutorInfos=lambda: [None] * (self.executors + 1))
        scala = SimpleNamespace(statusTracker=lambda: tracker)
        context: Any = SimpleNamespace(
            _jsc=SimpleNamespace(sc=lambda: scala), getConf=lambda: {"spark.master": master}
        )
        self.watch = ExecutorWatch(context, self._say, self.is_cancelled.set, timeout_s)

    def _say(self, what: str | None) -> None:
        self.said.append(what)
        self.is_told.set()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK_S", 0.01)
    monkeypatch.setattr(module, "_PATIENCE_S", 0.02)


def test_a_job_without_executors_is_told() -> None:
    """Spark itself would only log it, and with its log at ERROR not even that."""
    cluster = Cluster()
    with cluster.watch.over_job():
        assert cluster.is_told.wait(10)
    assert "yarn gives it none" in str(cluster.said[0])
    assert cluster.said[-1] is None
    cluster.watch.close()


def test_a_job_goes_on_when_an_executor_comes() -> None:
    cluster = Cluster()
    with cluster.watch.over_job():
        assert cluster.is_told.wait(10)
        cluster.executors = 1
        while cluster.said[-1] is not None:
            cluster.is_told.clear()
            assert cluster.is_told.wait(10)
    assert not cluster.is_cancelled.is_set()
    cluster.watch.close()


def test_a_job_that_waited_too_long_is_given_up() -> None:
    """The error says what is missing, not only that a job was cancelled."""
    cluster = Cluster(timeout_s=0.05)

    def job() -> None:
        with cluster.watch.over_job():
            assert cluster.is_cancelled.wait(10)
            raise RuntimeError("job cancelled")

    with pytest.raises(StreamsError) as raised:
        job()
    assert raised.value.code == "no-executors"
    cluster.watch.close()


def test_another_failure_of_a_job_stays_what_it_is() -> None:
    cluster = Cluster()
    cluster.executors = 2
    with pytest.raises(RuntimeError), cluster.watch.over_job():
        raise RuntimeError("job failed")
    assert cluster.said == []
    cluster.watch.close()


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]"])
def test_one_machine_needs_no_executors(master: str) -> None:
    cluster = Cluster(master)
    with cluster.watch.over_job():
        assert not cluster.is_told.wait(0.1)
    assert cluster.watch._thread is None
