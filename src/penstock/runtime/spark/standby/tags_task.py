"""The function of a Spark task that reads the tags of its executor's host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.kafka.machine import variable
from penstock.runtime.spark.worker.processes.process_tree import find_executor


@dataclass(frozen=True, slots=True)
class TagsTask:
    """Return the name of the executor and the tags that its environment has."""

    #: By tag: the environment variable with its value.
    variables: Mapping[str, str]

    def __call__(self, _: Iterable[int]) -> list[tuple[str, dict[str, str]]]:
        found = {tag: variable(name) for tag, name in self.variables.items()}
        return [
            (find_executor().name, {tag: each for tag, each in found.items() if each is not None})
        ]
