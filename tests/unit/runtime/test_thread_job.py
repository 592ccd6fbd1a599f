"""A Spark job of stream threads: it is started again, until it is told to end or cannot run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError

from penstock.runtime.spark.driver.executors import spark_executors
from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId
from penstock.runtime.spark.driver.threads import thread_job as module
from penstock.runtime.spark.driver.threads.thread_job import ThreadJob
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.thread_task import ThreadTask

DOOR = Endpoint("driver", "127.0.0.1", 1, "driver")


class Context:
    """A Spark context whose attempts of a job do what a test says."""

    def __init__(self, *attempts: Callable[[], object]) -> None:
        self._attempts = list(attempts)
        self.tasks: list[ThreadTask] = []
        self.told: list[tuple[str, ...]] = []
        self.slices = 0
        self.is_cancelled = threading.Event()
        self._jsc = SimpleNamespace(setCallSite=lambda name: self.told.append((name,)))

    def setLocalProperty(self, name: str, value: str) -> None:  # noqa: N802 - Spark's name
        self.told.append((name, value))

    def setJobGroup(self, group: str, title: str) -> None:  # noqa: N802
        self.told.append((group, title))

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802
        self.told.append(("cancel", group))
        self.is_cancelled.set()

    def parallelize(self, numbers: range, slices: int) -> Any:
        self.slices = slices
        return SimpleNamespace(mapPartitions=self._job)

    def _job(self, task: ThreadTask) -> Any:
        self.tasks.append(task)
        attempt = self._attempts.pop(0) if self._attempts else int
        return SimpleNamespace(_jrdd=SimpleNamespace(count=attempt))


class Pauses:
    """The event of a job that closes: it notes how long the job waits between two attempts."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._event = threading.Event()
        self.is_set, self.set = self._event.is_set, self._event.set

    def wait(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        return self._event.is_set()


class Clock:
    """The time that a job sees."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pauses]:
    made = Pauses()
    monkeypatch.setattr(module, "threading", SimpleNamespace(
        Event=lambda: made, Thread=threading.Thread
    ))  # fmt: skip
    yield made
    made.set()


def job(context: Context, failed: Callable[[], None] = lambda: None, **given: Any) -> ThreadJob:
    return ThreadJob(
        cast("Any", context), DOOR, b"secret", 2, owner="app", title="app: stream threads",
        tags={"zone": "ZONE"}, failed=failed, **given,
    )  # fmt: skip


def ended(made: ThreadJob) -> bool:
    made._thread.join(30)
    return made.is_over


def fail(error: Exception) -> Callable[[], object]:
    def attempt() -> object:
        raise error

    return attempt


def test_a_job_has_a_task_for_each_thread_and_says_what_it_is(pauses: Pauses) -> None:
    """With FAIR scheduling, other jobs have a pool of their own."""
    context = Context()
    made = job(context)
    assert ended(made)
    assert (context.slices, made.error) == (2, None)
    (task,) = context.tasks
    assert (task.driver, task.job, task.tags) == (DOOR, made.name, {"zone": "ZONE"})
    assert task.executor is None
    assert ("spark.scheduler.pool", "penstock") in context.told
    assert context.told[1:] == [(f"penstock-threads-{made.name}", "app: stream threads"), ("app",)]


def test_a_job_that_fails_is_started_again_after_longer_and_longer_pauses(
    pauses: Pauses, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Too many failures of tasks never end the application."""
    told: list[None] = []
    errors = [fail(RuntimeError(f"failure {number}")) for number in range(7)]
    made = job(Context(*errors), lambda: told.append(None))
    assert ended(made)
    assert pauses.seconds == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert len(told) == 7
    assert made.error is not None
    assert "failure 6" in made.error.message
    made.note_arrival()
    assert made.error is None
    assert caplog.text.count("they are started again") == 7


def test_a_failure_after_a_long_good_time_is_a_first_one(pauses: Pauses, clock: Clock) -> None:
    """An application runs for months, and some executors are lost in that time."""

    def lasting() -> object:
        clock.now_s += 3600.0
        raise RuntimeError("an executor is lost")

    errors = [fail(RuntimeError("x")), fail(RuntimeError("x")), lasting, lasting]
    assert ended(job(Context(*errors)))
    assert pauses.seconds == [0.5, 1.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Py4JNetworkError("refused"), "spark-lost"),
        (ConnectionError("reset"), "spark-lost"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_job_is_not_started_again_where_it_cannot_run(
    pauses: Pauses, error: Exception, code: str
) -> None:
    """The user has to do something; those who wait raise the error."""
    told: list[None] = []
    context = Context(fail(error))
    made = job(context, lambda: told.append(None))
    assert ended(made)
    assert made.error is not None
    assert made.error.code == code
    assert (len(context.tasks), len(told)) == (1, 1)


def test_a_job_that_closes_waits_for_its_threads_to_end() -> None:
    """They have been told, and need a moment to write their state to disk."""
    may_end = threading.Event()
    context = Context(lambda: may_end.wait(60))
    made = job(context)
    threading.Timer(0.2, may_end.set).start()
    made.close(30.0)
    assert made.is_over
    assert not context.is_cancelled.is_set()


def test_a_job_whose_threads_do_not_end_is_cancelled() -> None:
    """A function of the user does not return; and the error of that is nobody's."""
    told: list[None] = []

    def hang() -> object:
        assert context.is_cancelled.wait(60)
        raise RuntimeError("cancelled")

    context = Context(hang)
    made = job(context, lambda: told.append(None))
    made.close(0.1)
    assert ended(made)
    assert ("cancel", f"penstock-threads-{made.name}") in context.told
    assert (told, made.error, len(context.tasks)) == ([], None, 1)


def test_a_thread_may_stay_only_on_the_executor_where_it_is_wanted(
    pauses: Pauses, caplog: pytest.LogCaptureFixture
) -> None:
    """Without preferred locations, which are no public API, it may start elsewhere: said once."""
    spark_executors._warn_of_no_locations.cache_clear()
    for _ in range(2):
        context = Context()
        made = job(context, executor=ExecutorId("host", "7"))
        assert ended(made)
        (task,) = context.tasks
        assert (task.executor, context.slices) == ("7", 2)
    assert caplog.text.count("no preferred locations for stream threads: AttributeError") == 1
