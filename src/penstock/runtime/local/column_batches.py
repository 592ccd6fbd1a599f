"""Run batches over columns in this process, one sub-topology at a time as on Spark."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kernel.java_queue import JavaQueue
from penstock.kernel.raw_columns import columns_of
from penstock.kernel.record_queue import RawRecord
from penstock.topology.graph import Graph
from penstock.topology.subtopology import SubTopology

if TYPE_CHECKING:
    from penstock.kernel.columns.column_task import ColumnTask
    from penstock.kernel.task import StreamTask


@dataclass(frozen=True, slots=True)
class BatchReport:
    """How one batch of a sub-topology ran. ``why_not`` is None if it ran over columns."""

    subtopology: int
    records: int
    why_not: str | None = None

    @property
    def ran_over_columns(self) -> bool:
        return self.why_not is None

    def __str__(self) -> str:
        way = "over columns" if self.why_not is None else f"record by record ({self.why_not})"
        return f"sub-topology {self.subtopology}: {self.records} records {way}"


class _Waiting:
    """The records of one topic that no batch has taken yet."""

    def __init__(self, queue: str, part: int) -> None:
        self.queue = queue
        self.part = part
        self.records: deque[RawRecord] = deque()

    def time(self) -> int:
        return self.records[0][3]


class ColumnBatches:
    """Collect records, and run them as batches in the one task of a local application.

    The task runs all sub-topologies. Each of them is planned over columns by itself, as the tasks
    on Spark are. So a node that needs single records affects only its own sub-topology.
    """

    def __init__(
        self,
        task: StreamTask,
        graph: Graph,
        parts: Iterable[SubTopology],
        sources: Mapping[str, str],
    ) -> None:
        self.reports: list[BatchReport] = []
        self._task = task
        self._columns: dict[int, ColumnTask] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._ready: JavaQueue[_Waiting] = JavaQueue(_Waiting.time)
        # Imported here because the libraries for columns take a while to import.
        vector = importlib.import_module("penstock.kernel.columns.column_task")
        parts = list(parts)
        for part in parts:
            nodes = [name for name in graph.nodes if name in part.nodes]
            self._columns[part.id] = vector.column_task(task, nodes)
            for queue, source in sources.items():
                if source in part.nodes:
                    self._waiting[queue] = _Waiting(queue, part.id)
        self._behind = {part.id: _behind(part, parts, graph) for part in parts}

    def add(self, queue: str, record: RawRecord) -> None:
        waiting = self._waiting[queue]
        waiting.records.append(record)
        if len(waiting.records) == 1:
            self._ready.offer(waiting)

    @property
    def has_records(self) -> bool:
        return len(self._ready) > 0

    def run_one(self) -> None:
        """Run the record with the smallest timestamp as a batch of its own."""
        waiting = self._ready.poll()
        taken = [waiting.records.popleft()]
        if waiting.records:
            self._ready.offer(waiting)
        self._run(waiting.part, {waiting.queue: taken})

    def run_all(self) -> None:
        """Run all waiting records of one sub-topology.

        It is the first one that gets nothing from another sub-topology with waiting records.
        """
        waiting = self._ready.take_all()
        parts = {each.part for each in waiting}
        first = [part for part in parts if not any(part in self._behind[p] for p in parts)]
        # Sub-topologies in a cycle, as in a foreign-key join, all get records from each other.
        # Then take the one with the smallest number.
        chosen = min(first or parts)
        taken: dict[str, list[RawRecord]] = {}
        for each in waiting:
            if each.part == chosen:
                taken[each.queue] = [*each.records]
                each.records.clear()
            else:
                self._ready.offer(each)
        self._run(chosen, taken)

    def _run(self, part: int, records: Mapping[str, list[RawRecord]]) -> None:
        columns = self._columns[part]
        before = columns.batches
        self._task.columns = columns
        inputs = [(queue, columns_of(some[0][0], 0, some)) for queue, some in records.items()]
        self._task.run_batch(inputs)
        why_not = None if columns.batches > before else columns.why_not
        self.reports.append(BatchReport(part, sum(map(len, records.values())), why_not))


def _behind(part: SubTopology, parts: Iterable[SubTopology], graph: Graph) -> set[int]:
    """Return the other sub-topologies that get records from ``part``, directly or not."""
    found: set[int] = set()
    waiting = [part]
    while waiting:
        written = {sink.topic for sink in waiting.pop().sinks(graph)}
        for other in parts:
            read = {topic for source in other.sources(graph) for topic in source.topics}
            if other.id not in found and written & read:
                found.add(other.id)
                waiting.append(other)
    return found - {part.id}
