"""Shows on Spark's pages, and in its REST API, what stream threads do.

Spark learns what a task has read and written from the JVM of its executor, at the latest when the
task ends. A stream thread stays, and its records do not pass through the JVM. So the driver tells
Spark itself, in the way in which heartbeats of executors do.

None of what is called here is a public interface of Spark. If a version has it otherwise, its pages
show less, and the application does not notice.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark import SparkContext

from penstock.runtime.spark.exchange.questions import SparkTask, Worked

log = logging.getLogger(__name__)

#: Between two updates. A heartbeat of an executor has no figures of stream threads, so until the
#: next update the pages show none.
_EVERY_S = 1.0
_METRICS = "internal.metrics."
#: Spark tries a stage again if the output of one before it is lost. This job has one stage.
_STAGE_ATTEMPT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTask:
    """A running Spark task: where it runs, what its job is called, and what it has done."""

    task: SparkTask
    executor: str
    title: str
    worked: Worked


@dataclass(frozen=True, slots=True)
class ShownState:
    """What Spark's pages say about an application."""

    state: str
    #: How many records of its inputs wait; None if that is not known.
    behind: int | None


def in_words(shown: Sequence[ShownState]) -> str:
    """Return how one application does, or several that share stream threads.

    >>> in_words([ShownState("RUNNING", 1200)])
    'RUNNING, 1,200 records behind'
    >>> in_words([ShownState("RUNNING", 3), ShownState("RUNNING", 0), ShownState("ERROR", None)])
    '1 ERROR, 2 RUNNING, 3 records behind'
    """
    states = Counter(each.state for each in shown)
    told = [
        state if len(shown) == 1 else f"{count} {state}" for state, count in sorted(states.items())
    ]
    known = [each.behind for each in shown if each.behind is not None]
    if known:
        told.append(f"{sum(known):,} records behind")
    return ", ".join(told)


class SparkPages:
    """Tells Spark once a second what its tasks have done, until it is closed.

    Args:
        seen: returns the tasks of stream threads.
        told: returns the state of the application, in words.
    """

    def __init__(
        self,
        context: SparkContext,
        seen: Callable[[], Sequence[ShownTask]],
        told: Callable[[], str],
    ) -> None:
        self._context = context
        self._seen, self._told = seen, told
        self._closing = threading.Event()
        threading.Thread(target=self._run, name="penstock-pages", daemon=True).start()

    def close(self) -> None:
        self._closing.set()

    def _run(self) -> None:
        try:
            if self._context.uiWebUrl is None:
                return
            listeners = _Listeners(self._context)
            while not self._closing.wait(_EVERY_S):
                tasks = self._seen()
                state = self._told()
                if state:
                    listeners.describe(tasks, state)
                listeners.post(tasks)
        except Exception as error:  # noqa: BLE001 - only Spark's pages miss something
            log.debug("Spark's pages do not show what stream threads do: %s", error)


@dataclass(slots=True)
class _Listeners:
    """The part of Spark's JVM that collects what the pages show."""

    context: Any
    #: By executor: the last event as text, and the same in the JVM.
    _events: dict[str, tuple[str, Any]] = field(default_factory=dict)
    #: By stage: what it was last described as.
    _texts: dict[int, str] = field(default_factory=dict)

    def post(self, tasks: Iterable[ShownTask]) -> None:
        """Tell Spark what tasks have done, as a heartbeat of their executor would."""
        java = self.context._jsc.sc()
        for text, executor in ((event(each, name), name) for name, each in by_executor(tasks)):
            before, made = self._events.get(executor, ("", None))
            if text != before:
                made = self.context._jvm.org.apache.spark.util.JsonProtocol.sparkEventFromJson(text)
                self._events[executor] = text, made
            java.listenerBus().post(made)

    def describe(self, tasks: Iterable[ShownTask], state: str) -> None:
        """Show the state of the application in the descriptions of its job and stage.

        Spark takes them once, at the start of a job. Its listener keeps them with the rest that the
        pages show, and writes all of that with the next event.
        """
        for each in tasks:
            stage = each.task.stage
            text = f"{each.title} ({state})"
            if self._texts.get(stage) != text and self._described(stage, text):
                self._texts[stage] = text

    def _described(self, stage: int, text: str) -> bool:
        jvm = self.context._jvm
        listener = self.context._jsc.sc().statusStore().listener().get()
        key = jvm.scala.Tuple2(stage, _STAGE_ATTEMPT)
        live = _field(listener, "liveStages").get(listener).get(key)
        if live is None:
            return False
        jobs = live.jobs()
        for one in (live, *(jobs.apply(number) for number in range(jobs.size()))):
            _field(one, "description").set(one, jvm.scala.Option.apply(text))
        return True


def _field(of: Any, name: str) -> Any:
    """Return a private field of a Java object, with the means of Java's reflection."""
    found = of.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found


def by_executor(tasks: Iterable[ShownTask]) -> list[tuple[str, list[ShownTask]]]:
    found: defaultdict[str, list[ShownTask]] = defaultdict(list)
    for task in tasks:
        found[task.executor].append(task)
    return list(found.items())


def event(tasks: Iterable[ShownTask], executor: str) -> str:
    """Return Spark's event for what tasks of an executor have done so far, as Spark's JSON."""
    return json.dumps({
        "Event": "SparkListenerExecutorMetricsUpdate",
        "Executor ID": executor,
        "Metrics Updated": [
            {
                "Task ID": each.task.attempt,
                "Stage ID": each.task.stage,
                "Stage Attempt ID": _STAGE_ATTEMPT,
                "Accumulator Updates": _accumulators(each.worked),
            }
            for each in tasks
        ],
        "Executor Metrics Updated": [],
    })  # fmt: skip


def _accumulators(worked: Worked) -> list[dict[str, object]]:
    values = {
        "executorRunTime": worked.run_ms,
        "executorCpuTime": worked.cpu_ns,
        "input.bytesRead": worked.work.bytes_read,
        "input.recordsRead": worked.work.records_read,
        "output.bytesWritten": worked.work.bytes_written,
        "output.recordsWritten": worked.work.records_written,
    }
    return [
        {"ID": number, "Name": _METRICS + name, "Update": value, "Internal": True,
         "Count Failed Values": True}
        for number, (name, value) in enumerate(values.items())
    ]  # fmt: skip
