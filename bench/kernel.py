"""Measure the kernel alone: one task in this process, JSON values, no Spark and no Kafka.

Each workload runs record by record and over columns. The records are made before the measurement
begins, and are processed in batches. Output and changelog records are counted and dropped.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import penstock as ps
from bench.column_workloads import OF_ONE_TOPIC, OF_TWO_TOPICS
from bench.data import USERS, Pair, events, users
from bench.workloads import Topics, w1, w1_columns, w3, w3_columns, w4, w4_columns, w6, w7
from penstock.config import StreamsConfig
from penstock.kernel.columns.column_task import column_task
from penstock.kernel.raw_columns import RawColumns, columns_of
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.stores import CollectorChangelog, TaskStores, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.settings import task_settings
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.rocks import open_rocks
from penstock.topology.nodes import Source

TOPICS = Topics("events", "out", "users")
BASE_MS = 1_700_000_000_000
#: How a batch runs, by the value of ``penstock.vectorize``.
WAYS = ("off", "on")
COMMIT_EVERY = 50_000


def count(builder: ps.StreamsBuilder, topics: Topics) -> None:
    counted = (
        builder.stream(topics.input, key="string", value="json").group_by_key().count("counts")
    )
    counted.to_stream().to(topics.output, key="string", value="long")


WORKLOADS: dict[str, Callable[[ps.StreamsBuilder, Topics], None]] = {
    "stateless": w1,
    "stateless, expressions": w1_columns,
    "count": count,
    "windowed sum": w3,
    "windowed sum, expressions": w3_columns,
    "stream-table join": w4,
    "stream-table join, expressions": w4_columns,
    "stream-stream join": w6,
    "sessions": w7,
    **OF_ONE_TOPIC,
    **OF_TWO_TOPICS,
}
#: Half of the records of these come from the second topic.
TWO_STREAMS = {"stream-stream join", *OF_TWO_TOPICS}


#: The engines of persistent stores, by name.
ENGINES: dict[str, Callable[[Path], Callable[[str], BytesStore]]] = {
    "memory": lambda folder: lambda store: MemoryStore(),
    "rocksdb": lambda folder: lambda store: open_rocks(folder / store, store),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement. Records per CPU second are per core, since a task has one thread."""

    workload: str
    stores: str
    vectorize: str
    records: int
    seconds: float
    cpu_seconds: float
    sent: int
    #: How many of the batches ran over columns.
    column_batches: int

    @property
    def per_second(self) -> float:
        return self.records / self.seconds

    @property
    def per_cpu_second(self) -> float:
        return self.records / self.cpu_seconds

    def to_dict(self) -> dict[str, Any]:
        rates = {"per_second": self.per_second, "per_cpu_second": self.per_cpu_second}
        return {**asdict(self), **rates}


class NullCollector:
    """Count the records that are sent, and drop them."""

    def __init__(self) -> None:
        self.sent = 0

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        self.sent += 1

    def send_columns(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Any,
        headers: Sequence[Headers] | None,
        partition: int | None = None,
    ) -> None:
        self.sent += len(keys)

    def partitions(self, topic: str) -> int:
        return 1


def measure(
    workload: str, stores: str, records: int, vectorize: str = "off", keys: int = USERS
) -> Figure:
    """Run a workload with stores in ``memory`` or ``rocksdb``, and measure it."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        engine = ENGINES[stores](Path(folder))
        collector = NullCollector()
        task = new_task(workload, engine, collector, vectorize)
        if "stream-table join" in workload:
            _run(task, _batches(TOPICS.table, users(BASE_MS, keys), COMMIT_EVERY))
        batches = _inputs(workload, records, keys)
        before = collector.sent
        # Garbage collection must not visit the half a million input records: the measurement
        # would include that time.
        gc.freeze()
        wall, cpu = time.perf_counter(), time.process_time()
        _run(task, batches)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        task.close()
    ran = 0 if task.columns is None else task.columns.batches
    sent = collector.sent - before
    return Figure(workload, stores, vectorize, records, wall, cpu, sent, ran)


def new_task(
    workload: str,
    engine: Callable[[str], BytesStore],
    collector: NullCollector,
    vectorize: str = "off",
) -> StreamTask:
    """Return one task for the whole workload, with the record cache on, as it is by default."""
    builder = ps.StreamsBuilder()
    WORKLOADS[workload](builder, TOPICS)
    graph = builder.build().graph
    config = StreamsConfig({"application.id": "bench", "penstock.vectorize": vectorize})
    settings = task_settings(config)
    stores = TaskStores(
        task_store_specs(graph, graph.nodes),
        settings=settings,
        engine=engine,
        changelog=lambda store: CollectorChangelog(collector, settings.changelog_topic(store), 0),
    )
    task = StreamTask(
        TaskId(0, 0), graph, graph.nodes, settings=settings, collector=collector, stores=stores,
        wall_clock=lambda: BASE_MS,
    )  # fmt: skip
    for name, node in graph.nodes.items():
        if isinstance(node, Source):
            task.add_queue(node.topics[0], name)
    task.columns = column_task(task, graph.nodes)
    return task


def _inputs(workload: str, records: int, keys: int) -> list[list[RawColumns]]:
    """Return the records of each batch by topic. The topics of a batch cover the same time."""
    if workload not in TWO_STREAMS:
        return [*_batches(TOPICS.input, events(records, BASE_MS, keys=keys), COMMIT_EVERY)]
    sides = (
        _batches(topic, events(records // 2, BASE_MS, seed, keys), COMMIT_EVERY // 2)
        for topic, seed in ((TOPICS.input, 7), (TOPICS.table, 8))
    )
    return [[*left, *right] for left, right in zip(*sides, strict=True)]


def _batches(topic: str, pairs: Iterable[Pair], size: int) -> Iterator[list[RawColumns]]:
    rest = (
        RawRecord(topic, 0, offset, timestamp, key, value)
        for offset, (key, value, timestamp) in enumerate(pairs)
    )
    while batch := [*islice(rest, size)]:
        yield [columns_of(topic, 0, batch)]


def _run(task: StreamTask, batches: Iterable[list[RawColumns]]) -> None:
    for batch in batches:
        task.run_batch([(records.topic, records) for records in batch])
