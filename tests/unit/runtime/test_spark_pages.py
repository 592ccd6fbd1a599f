"""What Spark is told about stream threads, and that trouble with it disturbs nobody."""

from __future__ import annotations

import json
import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.driver.observing import spark_pages as module
from penstock.runtime.spark.driver.observing.spark_pages import (
    ShownTask,
    SparkPages,
    by_executor,
    event,
)
from penstock.runtime.spark.exchange.questions import SparkTask, Worked
from penstock.runtime.spark.exchange.work import Work

WORK = Work(records_read=3, bytes_read=30, records_written=2, bytes_written=20)
WORKED = Worked(work=WORK, cpu_ns=5_000_000, run_ms=900)


class Java(SimpleNamespace):
    """Spark's JVM: it takes events and descriptions."""

    def __init__(self) -> None:
        self.posted: list[str] = []
        self.parsed: list[str] = []
        self.described: list[tuple[str, str]] = []
        self.came = threading.Event()
        self.stages = {(4, 0): self._entity("stage", jobs=[self._entity("job")])}
        listener = self._entity("listener", liveStages=self.stages)
        option = SimpleNamespace(get=lambda: listener)
        store = SimpleNamespace(listener=lambda: option)
        bus = SimpleNamespace(post=self._post)
        self.scala = SimpleNamespace(
            Tuple2=lambda *parts: parts, Option=SimpleNamespace(apply=lambda text: text)
        )
        util = SimpleNamespace(JsonProtocol=SimpleNamespace(sparkEventFromJson=self._parse))
        self.org = SimpleNamespace(apache=SimpleNamespace(spark=SimpleNamespace(util=util)))
        self.context = SimpleNamespace(statusStore=lambda: store, listenerBus=lambda: bus)

    def _parse(self, text: str) -> str:
        self.parsed.append(text)
        return text

    def _post(self, made: str) -> None:
        self.posted.append(made)
        self.came.set()

    def _entity(self, name: str, jobs: list[Any] | None = None, **fields: Any) -> Any:
        def field(wanted: str) -> Any:
            return SimpleNamespace(
                setAccessible=lambda _: None,
                get=lambda _: fields[wanted],
                set=lambda _, value: self.described.append((f"{name}.{wanted}", value)),
            )

        found = [] if jobs is None else jobs
        of = SimpleNamespace(size=lambda: len(found), apply=lambda number: found[number])
        return SimpleNamespace(
            jobs=lambda: of, getClass=lambda: SimpleNamespace(getDeclaredField=field)
        )


def shown(number: int = 7, executor: str = "1", stage: int = 4) -> ShownTask:
    task = SparkTask(number, stage)
    return ShownTask(task=task, executor=executor, title="app: stream threads", worked=WORKED)


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> Java:
    monkeypatch.setattr(module, "_EVERY_S", 0.01)
    return Java()


def pages(java: Java, tasks: list[ShownTask], **given: Any) -> SparkPages:
    jsc = SimpleNamespace(sc=lambda: java.context)
    context: Any = SimpleNamespace(**{"_jvm": java, "_jsc": jsc, "uiWebUrl": "http://x", **given})
    return SparkPages(context, lambda: tasks, lambda: "RUNNING")


def test_an_event_has_the_figures_under_the_names_of_spark() -> None:
    """Its own heartbeats have the same form."""
    told = json.loads(event([shown()], "1"))
    assert (told["Event"], told["Executor ID"]) == ("SparkListenerExecutorMetricsUpdate", "1")
    (task,) = told["Metrics Updated"]
    assert [task[f"{name} ID"] for name in ("Task", "Stage", "Stage Attempt")] == [7, 4, 0]
    found = {each["Name"]: each["Update"] for each in task["Accumulator Updates"]}
    assert found == {
        "internal.metrics.executorRunTime": 900,
        "internal.metrics.executorCpuTime": 5_000_000,
        "internal.metrics.input.bytesRead": 30,
        "internal.metrics.input.recordsRead": 3,
        "internal.metrics.output.bytesWritten": 20,
        "internal.metrics.output.recordsWritten": 2,
    }


def test_tasks_are_told_by_executor() -> None:
    """A heartbeat is one executor's."""
    first, second, third = shown(1), shown(2, "2"), shown(3)
    assert by_executor([first, second, third]) == [("1", [first, third]), ("2", [second])]


def test_spark_is_told_again_and_again_what_it_forgets_with_each_heartbeat(java: Java) -> None:
    """An event that has not changed is made only once."""
    made = pages(java, [shown()])
    for _ in range(3):
        java.came.clear()
        assert java.came.wait(30)
    made.close()
    assert set(java.posted) == {event([shown()], "1")}
    assert len(java.parsed) == 1


def test_job_and_stage_are_described_by_the_state_of_the_application(java: Java) -> None:
    """A stage that Spark has not listed yet is described later."""
    made = pages(java, [shown(), shown(8), shown(9, stage=5)])
    for _ in range(3):
        java.came.clear()
        assert java.came.wait(30)
    made.close()
    text = "app: stream threads (RUNNING)"
    assert java.described == [("stage.description", text), ("job.description", text)]


def test_a_session_without_pages_is_told_nothing(java: Java) -> None:
    pages(java, [shown()], uiWebUrl=None)
    assert not java.came.wait(0.2)


def test_a_spark_that_has_it_otherwise_is_left_alone(
    java: Java, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of this is a public interface; one line for those who look for the reason."""
    java.scala = None
    with caplog.at_level(logging.DEBUG, logger=module.__name__):
        made = pages(java, [shown()])
        for thread in threading.enumerate():
            if thread.name == "penstock-pages":
                thread.join(30)
        made.close()
    assert caplog.text.count("Spark's pages do not show what stream threads do") == 1
    assert java.posted == []
