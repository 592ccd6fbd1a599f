"""A standby task: the stores of one task, kept up to date from their changelogs alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from penstock.kernel.operators.topics.source import SourceDecoder
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import TaskStores, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.worker.task_databases import AsRead, TaskDatabases, seen_by
from penstock.state.engine.pending import Checkpoint
from penstock.state.engine.rocks import OpenEngine, open_rocks
from penstock.topology.nodes import Source


@dataclass(frozen=True, slots=True)
class Followed:
    """A store of a task, and the topic partition whose records keep it up to date."""

    task: TaskId
    store: str
    part: TopicPartition


class TaskCopy:
    """The stores of one task without its processors.

    The copy uses the folders of the task. When the task moves to this host, it opens the databases
    that the copy has left there, and reads only the rest of the changelogs.
    """

    def __init__(
        self,
        task_id: TaskId,
        plan: Plan,
        settings: TaskSettings,
        directory: Path,
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        self.task_id = task_id
        self.databases = TaskDatabases(task_id, plan, settings, directory, open_engine)
        self._plan = plan
        self._settings = settings
        nodes = [n for n in plan.graph.nodes if n in plan.subtopologies[task_id.subtopology].nodes]
        self._specs = [
            spec.with_caching_disabled()
            for spec in task_store_specs(plan.graph, nodes)
            if self.databases.changelog_of(spec.name) is not None
        ]
        try:
            self._stores = self._opened()
        except BaseException:
            # Otherwise this process keeps the folder locked, also against itself.
            self.databases.close()
            raise
        self._as_read = {
            name: self._seen_by_source(topic)
            for name, topic in plan.graph.source_changelogs.items()
            if name in self._stores.own
        }
        #: The largest timestamp in any changelog; rows expire by it.
        self.stream_time = -1
        self._stores.use_clocks(self.clock, self.clock)

    def _opened(self) -> TaskStores:
        return TaskStores(
            self._specs, settings=self._settings, engine=self.databases.engine,
            changelog=lambda store: None,
        )  # fmt: skip

    def clock(self) -> int:
        """Return the stream time, as far as the changelogs show it."""
        return self.stream_time

    @property
    def stores(self) -> dict[str, Any]:
        return dict(self._stores.own)

    def followed(self) -> list[Followed]:
        """Return every store of the copy with the topic partition that it follows."""
        found = []
        for name in self._stores.own:
            topic = self.databases.changelog_of(name)
            assert topic is not None
            found.append(Followed(self.task_id, name, (topic, self.task_id.partition)))
        return found

    def position(self, store: str, low: int, end: int) -> int:
        """Return the first offset of the changelog that the copy of a store does not contain."""
        start = self.databases.start_of(store, low, end)
        if self.databases.is_emptied:
            self._open_again()
        return max(start, self.databases.ends.get(store, 0))

    def _open_again(self) -> None:
        """Open the stores of emptied databases anew. Stores in memory begin at the beginning."""
        databases = self.databases
        databases.is_emptied = False
        databases.ends = {n: end for n, end in databases.ends.items() if n in databases.engines}
        self._stores = self._opened()
        self._stores.use_clocks(self.clock, self.clock)

    def take(self, store: str, columns: RawColumns, batch: int, until: int) -> int:
        """Apply changelog records up to the offset ``until``; return how many were applied."""
        if len(columns):
            self.stream_time = max(self.stream_time, int(max(columns.timestamps)))
        return self.databases.take(
            self._stores.own[store], columns, Checkpoint(batch, until), self._as_read.get(store)
        )

    def close(self) -> None:
        self.databases.close()

    def _seen_by_source(self, topic: str) -> AsRead | None:
        source = next(
            node
            for node in self._plan.graph.nodes.values()
            if isinstance(node, Source) and topic in node.topics
        )
        # To decode records that were read before, a decoder needs only the settings of its task.
        task = SimpleNamespace(settings=self._settings, defaults=self._settings.defaults)
        return seen_by(SourceDecoder(source, cast(StreamTask, task)))
