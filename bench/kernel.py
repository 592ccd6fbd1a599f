"""Measure the kernel alone: one task in this process, JSON values, no Spark and no Kafka.

The records are made before the measurement begins, and are processed in batches. Output and
changelog records are counted and dropped.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import penstock as ps
from bench.data import Pair, events, users
from bench.workloads import Topics, w1, w3, w4
from penstock.config import StreamsConfig
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
BATCH = 10_000
COMMIT_EVERY = 50_000


def count(builder: ps.StreamsBuilder, topics: Topics) -> None:
    counted = (
        builder.stream(topics.input, key="string", value="json").group_by_key().count("counts")
    )
    counted.to_stream().to(topics.output, key_serde="string", value_serde="long")


WORKLOADS: dict[str, Callable[[ps.StreamsBuilder, Topics], None]] = {
    "stateless": w1,
    "count": count,
    "windowed sum": w3,
    "stream-table join": w4,
}


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
    records: int
    seconds: float
    cpu_seconds: float
    sent: int

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

    def partitions(self, topic: str) -> int:
        return 1


def measure(workload: str, stores: str, records: int) -> Figure:
    """Run a workload with stores in ``memory`` or ``rocksdb``, and measure it."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        engine = ENGINES[stores](Path(folder))
        collector = NullCollector()
        task = new_task(workload, engine, collector)
        if workload == "stream-table join":
            _run(task, _raw(TOPICS.table, users(BASE_MS)))
        inputs = _raw(TOPICS.input, events(records, BASE_MS))
        before = collector.sent
        # Garbage collection must not visit the half a million input records: the measurement
        # would include that time.
        gc.freeze()
        wall, cpu = time.perf_counter(), time.process_time()
        _run(task, inputs)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        task.close()
    return Figure(workload, stores, records, wall, cpu, collector.sent - before)


def new_task(
    workload: str, engine: Callable[[str], BytesStore], collector: NullCollector
) -> StreamTask:
    """Return one task for the whole workload, with the record cache on, as it is by default."""
    builder = ps.StreamsBuilder()
    WORKLOADS[workload](builder, TOPICS)
    graph = builder.build().graph
    settings = task_settings(StreamsConfig({"application.id": "bench"}))
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
    return task


def _raw(topic: str, pairs: Iterable[Pair]) -> list[RawRecord]:
    return [
        RawRecord(topic, 0, offset, timestamp, key, value)
        for offset, (key, value, timestamp) in enumerate(pairs)
    ]


def _batches(records: list[RawRecord]) -> Iterator[list[RawRecord]]:
    rest = iter(records)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _run(task: StreamTask, records: list[RawRecord]) -> None:
    since_commit = 0
    for batch in _batches(records):
        task.add_records(batch[0].topic, batch)
        task.process_all()
        since_commit += len(batch)
        if since_commit >= COMMIT_EVERY:
            task.flush()
            since_commit = 0
    task.flush()
