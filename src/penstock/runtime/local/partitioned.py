"""Run a topology over topics with several partitions, in this process, with one task for each.

For topics with one partition there is ``penstock.runtime.local.application``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.config import StreamsConfig
from penstock.errors import InvalidArgumentError
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.stores import (
    Engine,
    TaskStores,
    task_store_specs,
)
from penstock.kernel.task import StreamTask
from penstock.model.partitioning import partition_for
from penstock.model.record import Headers
from penstock.model.site import caller_site
from penstock.model.task_id import TaskId
from penstock.runtime.local.construction import (
    changelog_of,
    engine_in,
    global_task,
    global_topics,
    is_internal_topic,
    unknown_topic,
)
from penstock.runtime.local.outbox import InputRecord, Outbox, ProducedRecord
from penstock.runtime.settings import task_settings, warn_of_unasked_handler
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.state.environment import Changelog
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source
from penstock.topology.subtopology import SubTopology
from penstock.topology.topology import Topology, checked_topology
from penstock.topology.validate import nearest


class PartitionedOutbox(Outbox):
    """Collect sent records, and choose their partitions by key as Kafka's producer does.

    Records without a key go to the partitions of their topic in turn.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self._sizes = sizes
        self._turn: Counter[str] = Counter()

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        if partition is None:
            partition = self.partition_of(topic, key)
        super().send(topic, key, value, timestamp, headers, partition)

    def partitions(self, topic: str) -> int:
        return self._sizes.get(topic, 1)

    def partition_of(self, topic: str, key: bytes | None) -> int:
        if key is not None:
            return partition_for(key, self.partitions(topic))
        self._turn[topic] += 1
        return (self._turn[topic] - 1) % self.partitions(topic)


class PartitionedApplication:
    """Process each record completely before the next, in the task of its partition.

    Every task has its own stores and its own stream time. It commits after every record, unless
    records come as a batch. Topics that are not in ``partitions`` have one partition. Repartition
    topics have as many as in a real application.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        wall_clock_ms: int,
        partitions: Mapping[str, int],
        *,
        on_disk: bool,
    ) -> None:
        self.now_ms = wall_clock_ms
        _check_sizes(checked_topology(topology).graph, partitions)
        self.graph = _with_topics(topology.graph, partitions)
        warn_of_unasked_handler(self.graph, config)
        self.settings = task_settings(config, emit_interval_ms=0)
        self.produced: list[ProducedRecord] = []
        self._plan = make_plan(self.graph, _source_sizes(self.graph, partitions))
        self._outbox = PartitionedOutbox(self._topic_sizes(partitions))
        self._offsets: Counter[tuple[str, int]] = Counter()
        self._directory = Path(tempfile.mkdtemp(prefix="penstock-test-")) if on_disk else None
        self._task_stores: dict[TaskId, TaskStores] = {}
        self._readers: dict[str, int] = {}
        try:
            self._global = global_task(
                self.graph, self.settings, self._outbox, self._engine("global"), self._clock
            )
            self.tasks = self._stream_tasks()
        except BaseException:
            self._remove_directory()
            raise

    # Input and time

    def pipe(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        """Process one record through the whole topology, repartition topics included."""
        record = InputRecord(topic, key, value, timestamp, headers, partition)
        self.pipe_batch([record], commit_every=1)

    def pipe_batch(
        self, records: Iterable[InputRecord], *, commit_every: int = sys.maxsize
    ) -> None:
        """Queue all records, then process them; each task takes the smallest timestamp first."""
        for record in records:
            partition = record.partition
            if partition is None:
                partition = self._outbox.partition_of(record.topic, record.key)
            if not self._enqueue(*record[:5], partition):
                raise unknown_topic(record.topic, [*self._readers, *global_topics(self.graph)])
        self._run(commit_every)

    def pipe_raw(self, records: Iterable[RawRecord]) -> None:
        """Process records that were read from Kafka; they keep their partitions and offsets."""
        for raw in records:
            if not self._add(raw):
                raise unknown_topic(raw.topic, [*self._readers, *global_topics(self.graph)])
        self._run(sys.maxsize)

    def take_produced(self) -> list[ProducedRecord]:
        """Return the records that were sent since the last call, and forget them."""
        produced, self.produced = self.produced, []
        return produced

    def advance(self, milliseconds: int) -> None:
        """Advance the wall clock, run the punctuations that are due in every task, and commit."""
        self.now_ms += milliseconds
        for task in self.tasks.values():
            task.punctuate_wall_clock()
            task.flush()
        self._run(1)

    # Results

    @property
    def stores(self) -> dict[str, Any]:
        """Return the stores by name: a dict by partition for each, or the global store itself."""
        found: dict[str, Any] = {}
        for task_id, stores in self._task_stores.items():
            for name, store in stores.own.items():
                found.setdefault(name, {})[task_id.partition] = store
        return found if self._global is None else found | dict(self._global.stores.own)

    @property
    def all_tasks(self) -> list[StreamTask]:
        return list(self.tasks.values())

    @property
    def dropped_records(self) -> Counter[tuple[str, str]]:
        """Return how many records each node dropped in all tasks, by (node, reason)."""
        return sum((task.dropped_records for task in self.tasks.values()), Counter())

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has."""
        return self._outbox.partitions(topic)

    def is_internal_topic(self, topic: str) -> bool:
        return is_internal_topic(self.graph, self.settings, topic)

    def close(self) -> None:
        try:
            for task in self.tasks.values():
                task.close()
            if self._global is not None:
                self._global.close()
        finally:
            self._remove_directory()

    # The loop

    def _run(self, commit_every: int) -> None:
        """Process until no records are left, including those that a commit flushes from caches."""
        self._capture()
        while ready := [task for task in self.tasks.values() if task.has_records]:
            for task in ready:
                self._process(task, commit_every)
                task.flush()
                self._capture()
        for task in self.tasks.values():
            task.settle()

    def _process(self, task: StreamTask, most: int) -> None:
        for _ in range(most):
            task.process_next()
            task.punctuate_stream_time()
            self._capture()
            if not task.has_records:
                return

    def _capture(self) -> None:
        """Keep the sent records, and queue those of a topic that is also a source."""
        for record in self._outbox.take():
            self.produced.append(record)
            self._enqueue(*record)

    def _enqueue(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int,
    ) -> bool:
        offset = self._offsets[topic, partition]
        raw = RawRecord(topic, partition, offset, timestamp, key, value, headers)
        if not self._add(raw):
            return False
        self._offsets[topic, partition] += 1
        return True

    def _add(self, raw: RawRecord) -> bool:
        """Add a record to the task that reads it; false if no task does."""
        topic = raw.topic
        reader, is_global = self._readers.get(topic), topic in global_topics(self.graph)
        if reader is None and not is_global:
            return False
        if reader is not None:
            self.tasks[TaskId(reader, raw.partition)].add_records(topic, [raw])
        if is_global and self._global is not None:
            self._global.update(raw)
        return True

    # Construction

    def _topic_sizes(self, declared: Mapping[str, int]) -> dict[str, int]:
        """Return the number of partitions of every topic, by its name in Kafka."""
        sizes = dict(declared)
        for topic in self.graph.internal_topics:
            if topic in self._plan.partitions:
                sizes[self.settings.topic(topic)] = self._plan.partitions[topic]
        return sizes

    def _stream_tasks(self) -> dict[TaskId, StreamTask]:
        return {
            TaskId(part.id, number): self._stream_task(part, number)
            for part in self._plan.subtopologies.values()
            if not part.is_global
            for number in range(self._plan.tasks(part.id))
        }

    def _stream_task(self, part: SubTopology, number: int) -> StreamTask:
        task_id = TaskId(part.id, number)
        nodes = [name for name in self.graph.nodes if name in part.nodes]
        stores = self._task_stores[task_id] = TaskStores(
            task_store_specs(self.graph, nodes),
            settings=self.settings,
            engine=self._engine(str(task_id)),
            changelog=lambda store: self._changelog(store, number),
            global_stores={} if self._global is None else self._global.stores.own,
        )
        task = StreamTask(
            task_id, self.graph, nodes, settings=self.settings, collector=self._outbox,
            stores=stores, wall_clock=self._clock,
        )  # fmt: skip
        for source in part.sources(self.graph):
            for topic in source.topics:
                self._readers[task.topic_name(topic)] = part.id
                if number < self._plan.partitions[topic]:
                    task.add_queue(task.topic_name(topic), source.name)
        return task

    def _engine(self, folder: str) -> Engine:
        return engine_in(self._directory, folder, self.settings)

    def _clock(self) -> int:
        return self.now_ms

    def _changelog(self, store: str, partition: int) -> Changelog | None:
        return changelog_of(self.graph, self.settings, self._outbox, store, partition)

    def _remove_directory(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)


def _check_sizes(graph: Graph, partitions: Mapping[str, int]) -> None:
    """Raise an error for a size below 1, or for a topic that the topology does not use."""
    sources = [node for node in graph.nodes.values() if isinstance(node, Source)]
    sinks = [node for node in graph.nodes.values() if isinstance(node, Sink)]
    patterns = [source.pattern for source in sources if source.pattern is not None]
    read = [topic for source in sources for topic in source.topics]
    written = [sink.topic for sink in sinks if sink.topic is not None]
    known = sorted({*read, *written} - {*graph.internal_topics})
    is_dynamic = any(sink.topic is None for sink in sinks)
    for topic, count in partitions.items():
        if count < 1:
            raise InvalidArgumentError(
                "bad-partition-count",
                f"topic {topic!r} cannot have {count} partitions",
                fix="give a partition count of 1 or more",
                at=caller_site(),
            )
        if topic in known or is_dynamic or any(each.fullmatch(topic) for each in patterns):
            continue
        raise InvalidArgumentError(
            "unknown-topic",
            f"the topology neither reads nor writes topic {topic!r}{nearest(topic, known)}",
            fix=f"give partitions to: {', '.join(known)}",
            at=caller_site(),
        )


def _with_topics(graph: Graph, partitions: Mapping[str, int]) -> Graph:
    """Return the graph with each pattern replaced by the topics of ``partitions`` that match."""
    nodes = dict(graph.nodes)
    for name, node in graph.nodes.items():
        if isinstance(node, Source) and node.pattern is not None:
            topics = tuple(sorted(topic for topic in partitions if node.pattern.fullmatch(topic)))
            if not topics:
                raise InvalidArgumentError(
                    "missing-source-topic",
                    f"no topic matches the pattern {node.pattern.pattern!r} of source {name!r}",
                    fix="name the topics that match it in partitions",
                    at=node.site,
                )
            nodes[name] = replace(node, topics=topics, pattern=None)
    return replace(graph, nodes=nodes)


def _source_sizes(graph: Graph, partitions: Mapping[str, int]) -> dict[str, int]:
    sources = [node for node in graph.nodes.values() if isinstance(node, Source)]
    topics = [topic for source in sources for topic in source.topics]
    return {t: partitions.get(t, 1) for t in topics if t not in graph.internal_topics}
