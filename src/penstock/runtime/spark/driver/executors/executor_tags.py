"""The tags of executors, such as the zone of their host: each executor is asked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark import SparkContext

from penstock.runtime.spark.driver.executors.copy_places import ExecutorId, Tags, tag_variable
from penstock.runtime.spark.driver.placement import placed
from penstock.runtime.spark.standby.tags_task import TagsTask

#: Runs a task on these executors, or on others if those are busy; returns their answers.
RunOn = Callable[[Sequence[ExecutorId], TagsTask], list[tuple[str, Tags]]]


class ExecutorTags:
    """Learn the tags of executors with small Spark jobs.

    Args:
        listed: the tags to ask for. Without any, no executor is asked.
    """

    def __init__(self, run: RunOn, listed: Sequence[str]) -> None:
        self._run = run
        self._task = TagsTask({tag: tag_variable(tag) for tag in listed})
        self._known: dict[str, Tags] = {}

    def of(self, there: Sequence[ExecutorId]) -> Mapping[str, Tags]:
        """Return the tags of executors by name, without those that have not answered yet.

        Spark may run the task elsewhere if an executor is busy. It is asked again next time.
        """
        if not self._task.variables:
            return {each.name: {} for each in there}
        unknown = [each for each in there if each.name not in self._known]
        if unknown:
            self._known |= dict(self._run(unknown, self._task))
        return {each.name: self._known[each.name] for each in there if each.name in self._known}


def run_on(context: SparkContext, group: str, title: str) -> RunOn:
    """Return a function that runs a task on executors of a Spark application."""

    def run(executors: Sequence[ExecutorId], task: TagsTask) -> list[tuple[str, Tags]]:
        context.setJobGroup(group, title)
        places = placed(context, [f"executor_{each.host}_{each.name}" for each in executors])
        found: list[Any] = places.mapPartitions(task).collect()
        return found

    return run
