"""Run a topology with one partition per topic, in one task; used by ``penstock.testing``."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from penstock.config import StreamsConfig
from penstock.kernel.clocks import fitting
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.stores import (
    Engine,
    TaskStores,
    open_cache,
    task_store_specs,
)
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.local.column_batches import BatchReport, ColumnBatches
from penstock.runtime.local.construction import (
    changelog_of,
    engine_in,
    global_task,
    global_topics,
    is_internal_topic,
    unknown_topic,
)
from penstock.runtime.local.kept import KeptApplication
from penstock.runtime.local.outbox import InputRecord, Outbox, ProducedRecord
from penstock.runtime.settings import task_settings, warn_of_unasked_handler
from penstock.state.environment import Changelog
from penstock.topology.nodes import Source
from penstock.topology.subtopology import subtopologies
from penstock.topology.topology import Topology, checked_topology


class Watch(Protocol):
    """Stands between an application and its nodes, its stores and its output."""

    @property
    def outbox(self) -> Outbox:
        """Where the records go that nodes send."""

    def store(self, inner: Any) -> Any:
        """Return a store as nodes get it."""

    def attach(self, task: StreamTask) -> None:
        """Stand in front of the nodes of a task that has not run yet."""


class LocalApplication:
    """Process each record completely before the next: input, repartitions, punctuation, commit.

    As in Java's test driver, there is one partition per topic and one task for all sub-topologies.
    The task commits after every record, unless records come as a batch. The wall clock stands
    still until ``advance`` moves it.

    With ``over_columns``, a record or the records of a batch run over columns where the result is
    provably the same. An error of the column code is raised. ``batches`` says how each batch ran.
    ``kept`` holds the stores and clocks, so that another application can continue with them.
    ``watch`` sees what the nodes do.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        wall_clock_ms: int,
        *,
        on_disk: bool,
        over_columns: bool = False,
        kept: KeptApplication | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.now_ms = wall_clock_ms
        self._watch = watch
        self._kept = kept
        self.graph = checked_topology(topology).graph
        warn_of_unasked_handler(self.graph, config)
        settings = task_settings(config, emit_interval_ms=0)
        if over_columns:
            settings = replace(
                settings, vectorize_from=1, form_clock=None, raises_column_errors=True
            )
        self.settings = settings
        self.produced: list[ProducedRecord] = []
        self._outbox = Outbox() if watch is None else watch.outbox
        self._offsets: Counter[str] = Counter()
        self._directory = Path(tempfile.mkdtemp(prefix="penstock-test-")) if on_disk else None
        # Global stores use this cache too, as in Kafka Streams' test driver.
        self._cache = open_cache(self.settings)
        try:
            self._global = global_task(
                self.graph, self.settings, self._outbox, self._engine("global"), self._clock,
                cache=self._cache,
            )  # fmt: skip
            self._task = self._stream_task()
            self._columns = self._column_batches() if over_columns else None
        except BaseException:
            self._remove_directory()
            raise

    # Input and time

    def pipe(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        """Process one record through the whole topology, repartition topics included."""
        self.pipe_batch([InputRecord(topic, key, value, timestamp, headers)], commit_every=1)

    def pipe_batch(
        self, records: Iterable[InputRecord], *, commit_every: int = sys.maxsize
    ) -> None:
        """Queue all records, then process them, the smallest timestamp first.

        The task commits after every ``commit_every`` records and when no records are left. Over
        columns, it commits after every record if ``commit_every`` is 1. Otherwise it commits after
        all records of a sub-topology.
        """
        for record in records:
            if not self._enqueue(*record[:5]):
                raise unknown_topic(record.topic, [*self._queues, *global_topics(self.graph)])
        self._run(commit_every)

    def advance(self, milliseconds: int) -> None:
        """Advance the wall clock, run the punctuations that are due, and commit."""
        self.now_ms += milliseconds
        if self._task is not None:
            self._task.punctuate_wall_clock()
            self._task.flush()
        self._run()

    # Results

    @property
    def stores(self) -> dict[str, Any]:
        own = {} if self._task_stores is None else dict(self._task_stores.own)
        return own | ({} if self._global is None else dict(self._global.stores.own))

    @property
    def task(self) -> StreamTask | None:
        """Return the task, or None if the topology has only global stores."""
        return self._task

    @property
    def all_tasks(self) -> list[StreamTask]:
        return [] if self._task is None else [self._task]

    @property
    def dropped_records(self) -> Counter[tuple[str, str]]:
        """Return how many records each node dropped, by (node, reason)."""
        return Counter() if self._task is None else self._task.dropped_records

    @property
    def batches(self) -> list[BatchReport]:
        """Return a report for each batch; empty without ``over_columns``."""
        return [] if self._columns is None else self._columns.reports

    @property
    def commit_requested(self) -> bool:
        return self._task is not None and self._task.commit_requested

    def is_internal_topic(self, topic: str) -> bool:
        return is_internal_topic(self.graph, self.settings, topic)

    def close(self) -> None:
        try:
            if self._task is not None:
                if self._kept is not None:
                    self._kept.clocks = self._task.clocks()
                self._task.close()
            if self._global is not None:
                self._global.close()
        finally:
            self._remove_directory()

    # The loop

    def _run(self, commit_every: int = 1) -> None:
        """Process until no records are left, including those that a commit flushes from caches."""
        self._capture()
        task = self._task
        if task is None:
            return
        if self._columns is not None:
            self._run_columns(self._columns, commit_every)
        while task.has_records:
            self._process(task, commit_every)
            task.flush()
            self._capture()
        task.settle()

    def _run_columns(self, columns: ColumnBatches, commit_every: int) -> None:
        """Process until no records are left, in batches over columns, each with its commit."""
        while columns.has_records:
            if commit_every == 1:
                columns.run_one()
            else:
                columns.run_all()
            self._capture()

    def _process(self, task: StreamTask, most: int) -> None:
        for _ in range(most):
            task.process_next()
            task.punctuate_stream_time()
            if most > 1:
                self._capture()
                if not task.has_records:
                    return

    def _capture(self) -> None:
        """Keep the sent records, and queue those of a topic that is also a source."""
        for record in self._outbox.take():
            self.produced.append(record)
            self._enqueue(*record[:5])

    def _enqueue(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> bool:
        queue = self._queue_for(topic)
        is_global = topic in global_topics(self.graph)
        if queue is None and not is_global:
            return False
        counter = queue or topic
        raw = RawRecord(topic, 0, self._offsets[counter], timestamp, key, value, headers)
        self._offsets[counter] += 1
        if queue is not None and self._task is not None:
            if self._columns is None:
                self._task.add_records(queue, [raw])
            else:
                self._columns.add(queue, raw)
        if is_global and self._global is not None:
            self._global.update(raw)
        return True

    def _queue_for(self, topic: str) -> str | None:
        if topic in self._queues:
            return topic
        for name in self._queues:
            if name in self._patterns and re.fullmatch(name, topic):
                return name
        return None

    # Construction

    def _engine(self, folder: str) -> Engine:
        if self._kept is not None:
            return self._kept.open
        return engine_in(self._directory, folder, self.settings)

    def _clock(self) -> int:
        return self.now_ms

    def _stream_task(self) -> StreamTask | None:
        parts = [part for part in subtopologies(self.graph) if not part.is_global]
        names = {name for part in parts for name in part.nodes}
        nodes = [name for name in self.graph.nodes if name in names]
        self._queues: dict[str, str] = {}
        self._patterns: set[str] = set()
        self._task_stores: TaskStores | None = None
        if not nodes:
            return None
        self._task_stores = TaskStores(
            task_store_specs(self.graph, nodes),
            settings=self.settings,
            engine=self._engine("0_0"),
            changelog=self._changelog,
            global_stores={} if self._global is None else self._global.stores.own,
            cache=self._cache,
            around=None if self._watch is None else self._watch.store,
        )
        task = StreamTask(
            TaskId(0, 0), self.graph, nodes, settings=self.settings, collector=self._outbox,
            stores=self._task_stores, wall_clock=self._clock,
        )  # fmt: skip
        if self._watch is not None:
            self._watch.attach(task)
        self._add_queues(task, nodes)
        if self._kept is not None and self._kept.clocks is not None:
            clocks = fitting(self._kept.clocks, set(self._queues), set(nodes))
            if clocks is not None:
                task.set_clocks(clocks)
        return task

    def _column_batches(self) -> ColumnBatches | None:
        if self._task is None:
            return None
        parts = [part for part in subtopologies(self.graph) if not part.is_global]
        return ColumnBatches(self._task, self.graph, parts, self._queues)

    def _add_queues(self, task: StreamTask, nodes: list[str]) -> None:
        for name in nodes:
            node = self.graph.nodes[name]
            if not isinstance(node, Source):
                continue
            if node.pattern is not None:
                self._patterns.add(node.pattern.pattern)
            topics = node.topics if node.pattern is None else (node.pattern.pattern,)
            for topic in topics:
                real = task.topic_name(topic)
                self._queues[real] = name
                task.add_queue(real, name)

    def _changelog(self, store: str) -> Changelog | None:
        return changelog_of(self.graph, self.settings, self._outbox, store, 0)

    def _remove_directory(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
