"""Executors that Spark decommissions: their idle stream threads end and are replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId, executors_of
from penstock.runtime.spark.driver.threads import stream_threads as module
from penstock.runtime.spark.driver.threads.stream_threads import Seat, StreamThreads
from penstock.runtime.spark.exchange.questions import Hello, SparkTask
from penstock.runtime.spark.exchange.stage_request import Endpoint

_SECRET = b"s" * 32


class Job:
    """A Spark job that starts nothing; a test lets its threads arrive."""

    started: list[int]

    def __init__(self, *given: Any, **named: Any) -> None:
        self.name, self.count, self.executor = f"job-{len(Job.started)}", given[3], None
        self.is_over, self.error = False, None
        Job.started.append(self.count)

    def note_arrival(self) -> None: ...

    def close(self, patience_s: float) -> None: ...


class Thread:
    """A thread that has come up, and what it is told."""

    def __init__(self, name: str, executor: str, job: str = "job-0") -> None:
        self.endpoint = Endpoint(name, "host", 1, executor)
        self.hello = Hello(endpoint=self.endpoint, task=SparkTask(1, 1), job=job)
        self.is_ended = False
        self.has_left = threading.Event()
        self.has_left.set()

    def end(self) -> None:
        self.is_ended = True

    def hang_up(self) -> None: ...


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[StreamThreads]:
    monkeypatch.setattr(module, "ThreadJob", Job)
    Job.started = []
    context: Any = SimpleNamespace(getConf=lambda: {"spark.master": "yarn"})
    made = StreamThreads(context, "app", _SECRET)
    made.start("app", 2)
    yield made
    made.close()


def test_an_idle_thread_of_a_leaving_executor_ends_and_is_replaced(threads: StreamThreads) -> None:
    """Spark's executor goes only when no task runs there any more."""
    idle, other = Thread("idle", "1"), Thread("other", "2")
    for each in (idle, other):
        threads.arrived(each)  # type: ignore[arg-type]
    # A copy of a slot does not hold the executor.
    threads.seat(Seat("app", 0, copy_at="idle"), idle.endpoint)
    threads.retire({"1"})
    threads.retire({"1"})
    assert [idle.is_ended, other.is_ended] == [True, False]
    assert threads.candidates(Seat("app", 0)) == [other.endpoint]
    assert Job.started == [2, 1]


def test_a_thread_with_a_slot_stays_until_the_slot_has_moved(threads: StreamThreads) -> None:
    busy = Thread("busy", "1")
    threads.arrived(busy)  # type: ignore[arg-type]
    threads.seat(Seat("app", 0), busy.endpoint)
    threads.retire({"1"})
    assert not busy.is_ended
    threads.vacate([Seat("app", 0)])
    threads.retire({"1"})
    assert busy.is_ended


def test_leaving_executors_are_no_place_for_new_threads_and_copies() -> None:
    def state(name: str) -> Any:
        return SimpleNamespace(isDefined=lambda: name == "2")

    summaries = [
        SimpleNamespace(hostPort=lambda name=name: f"host-{name}:1", id=lambda name=name: name)
        for name in ("driver", "1", "2")
    ]
    sequence = SimpleNamespace(size=lambda: len(summaries), apply=summaries.__getitem__)
    scala = SimpleNamespace(
        statusStore=lambda: SimpleNamespace(executorList=lambda _: sequence),
        taskScheduler=lambda: SimpleNamespace(getExecutorDecommissionState=state),
    )
    context: Any = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: scala))
    assert executors_of(context) == [ExecutorId("host-1", "1")]
