"""Run one slot in this process: the worker's real code without Spark, with or without Kafka.

The slot, its tasks, stores, changelogs and markers are those of the Spark runtime. Without Kafka,
input and repartition topics are in memory, and output is dropped.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from confluent_kafka import Producer

from bench.data import USERS, inputs
from bench.workloads import Topics, build
from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import PartitionState, Topic
from penstock.kafka.client_config import (
    admin_settings,
    consumer_settings,
    producer_settings,
)
from penstock.kafka.clients import new_consumer
from penstock.kernel.raw_columns import RawColumns, columns_of
from penstock.kernel.record_queue import RawRecord
from penstock.model.partitioning import partition_for
from penstock.model.record import Headers
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.topics import batches_topic, internal_topics, source_partitions
from penstock.runtime.spark.exchange.batch_log import BatchLog, LogState
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.runtime.spark.exchange.stage_request import (
    Application,
    Range,
    Release,
    StageRequest,
)
from penstock.runtime.spark.worker.clients import Clients, KafkaClients
from penstock.runtime.spark.worker.reader import Reader, ReadRanges
from penstock.runtime.spark.worker.slot import Slot
from penstock.runtime.spark.worker.writer import Writer

PARTITIONS = 4
TOPICS = Topics("bench-input", "bench-output", "bench-table")
_RUN_ID = "profile"

Log = dict[TopicPartition, list[RawRecord]]


class _Delivery(NamedTuple):
    at: int
    number: int

    def offset(self) -> int:
        return self.at

    def partition(self) -> int:
        return self.number


class MemoryWriter:
    """Keep the records that later stages read in the log, and only count the others."""

    is_transactional = True
    is_usable = True

    def __init__(self, log: Log) -> None:
        self.sent = 0
        self._log = log
        self._waiting: list[tuple[Any, _Delivery]] = []

    def begin(self) -> None:
        return None

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None,
        on_delivery: Any = None,
    ) -> None:
        self.sent += 1
        at, number = self.sent, partition or 0
        kept = self._log.get((topic, number))
        if kept is not None:
            at = len(kept)
            kept.append(RawRecord(topic, number, at, timestamp, key, value, tuple(headers)))
        if on_delivery is not None:
            self._waiting.append((on_delivery, _Delivery(at, number)))

    def send_all(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        self.sent += len(keys)

    def commit(self, offsets: Mapping[TopicPartition, int], group: Any) -> None:
        for on_delivery, delivery in self._waiting:
            on_delivery(None, delivery)
        self._waiting.clear()

    def flush(self) -> None:
        return None

    def abort(self) -> None:
        return None

    def partitions(self, topic: str) -> int:
        return PARTITIONS


class MemoryReader:
    """Return columns that were made in advance, so that reading costs nothing."""

    def __init__(self, log: Log, columns: Mapping[TopicPartition, RawColumns]) -> None:
        self._log = log
        self._columns = columns

    def read(self, ranges: Mapping[TopicPartition, Range]) -> Log:
        return {part: self._log[part][start:end] for part, (start, end) in ranges.items()}

    def read_columns(
        self,
        ranges: Mapping[TopicPartition, Range],
        most_bytes: int = 1 << 40,
        stuck_s: float | None = None,
        open_ended: Collection[TopicPartition] = (),
    ) -> ReadRanges:
        found = {part: self._cut(part, *span) for part, span in ranges.items()}
        return ReadRanges(found, {part: end for part, (_, end) in ranges.items()})

    def _cut(self, part: TopicPartition, start: int, end: int) -> RawColumns:
        if part in self._columns:
            return self._columns[part].cut(start, end)
        # A repartition topic has only a few large records, so making columns is cheap.
        return columns_of(*part, self._log[part][start:end])

    def connect(self, parts: Iterable[TopicPartition]) -> None: ...

    def read_ahead(self) -> None: ...

    def rest(self) -> None: ...

    def close(self) -> None:
        return None


class MemoryClients:
    """Clients with input and repartition topics in memory; output is dropped, changelogs empty."""

    def __init__(self, log: Log, internal: Iterable[TopicPartition]) -> None:
        self._columns = {part: columns_of(*part, records) for part, records in log.items()}
        self._log: Log = {**log, **{part: [] for part in internal}}

    def writer(self, slot: int, *, one_by_one: bool = False) -> Writer:
        return MemoryWriter(self._log)

    def reader(self) -> Reader:
        return MemoryReader(self._log, self._columns)

    def restorer(self) -> Reader:
        return self.reader()

    def global_reader(self) -> Reader:
        return self.reader()

    def watermarks(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        return 0, 0

    def all_watermarks(
        self, parts: Collection[TopicPartition], *, is_own: bool
    ) -> dict[TopicPartition, tuple[int, int]]:
        return dict.fromkeys(parts, (0, 0))

    def batch_log(self) -> LogState:
        return LogState(generation=1, run_id=_RUN_ID)

    def close(self) -> None:
        return None


class OneSlot:
    """Run a workload over generated input, in batches as the driver would request them."""

    def __init__(
        self,
        workload: str,
        records: int,
        bootstrap: str | None = None,
        *,
        style: str = "expressions",
        vectorize: str = "auto",
        keys: int = USERS,
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-profile-"))
        application_id = f"profile-{workload}-{time.time_ns()}"
        topics = TOPICS
        if bootstrap is not None:
            topics = Topics(*(f"{application_id}-{name}" for name in ("in", "out", "table")))
        self._topics = topics
        config = StreamsConfig(
            {
                "application.id": application_id,
                "bootstrap.servers": bootstrap or "nowhere:9092",
                "state.dir": str(self._folder),
                "processing.guarantee": "exactly_once_v2",
                "penstock.vectorize": vectorize,
            }
        )
        log = _generated(workload, records, topics, keys)
        self.ends = {part: len(kept) for part, kept in log.items()}
        self.records = sum(n for (topic, _), n in self.ends.items() if topic == topics.input)
        parts = tuple(PartitionState(n, 0, (0,), (0,)) for n in range(PARTITIONS))
        existing = {topic: Topic(topic, parts) for topic, _ in log}
        graph = build(workload, topics, style).graph
        plan = make_plan(graph, source_partitions(graph, existing))
        self._application = Application(
            id=application_id, plan=plan, config=dict(config), state_dir=str(self._folder),
            exactly_once=True, consumer=consumer_settings(config),
            restore_consumer=consumer_settings(config, "restore"),
            global_consumer=consumer_settings(config, "global"),
            producer=producer_settings(config), admin=admin_settings(config), generation=1,
            run_id=_RUN_ID,
            batches_topic=batches_topic(application_id),
        )  # fmt: skip
        self._internal = InternalPositions(
            # Every stage reports what it has written, so the Admin client is never used.
            plan, cast("Admin", None), self._real, {}, {}, purge_interval_s=1e9,
        )  # fmt: skip
        self._clients: Clients = MemoryClients(log, self._internal.committed())
        self._group: bytes | None = None
        if bootstrap is not None:
            self._to_kafka(bootstrap, config, log)
        self._slot = Slot(self._application, 0, "profile", self._clients)

    def run(self, batches: int) -> tuple[float, float]:
        """Run all the input in this many batches; return the seconds and the CPU seconds."""
        began, cpu = time.perf_counter(), time.process_time()
        at = dict.fromkeys(self.ends, 0)
        for number in range(batches):
            until = {part: end * (number + 1) // batches for part, end in self.ends.items()}
            if number == 0:
                # The first batch has all records of the table, since their timestamps come first.
                until |= {p: end for p, end in self.ends.items() if p[0] == self._topics.table}
            self._run_batch(number, {part: (at[part], until[part]) for part in at})
            at = until
        return time.perf_counter() - began, time.process_time() - cpu

    def _run_batch(self, number: int, ranges: Mapping[TopicPartition, Range]) -> None:
        plan = self._application.plan
        starts = {part: start for part, (start, _) in ranges.items()}
        tables = set(plan.graph.source_changelogs.values())
        for stage in range(plan.stages):
            request = StageRequest(
                batch=number, stage=stage, slots=1, clock_ms=1,
                ranges={part: ranges[part] for part in _external(plan, stage)}
                | self._internal.ranges(stage, range(PARTITIONS)),
                skips=self._internal.skips, group=self._group,
                table_positions={part: at for part, at in starts.items() if part[0] in tables},
            )  # fmt: skip
            self._internal.advance(self._slot.run(request))

    def restore(self) -> tuple[int, float, float]:
        """Delete the state and restore it; return the records, seconds and CPU seconds."""
        self._slot.close(Release())
        shutil.rmtree(self._folder / self._application.id)
        self._slot = Slot(self._application, 0, "profile", self._clients)
        ranges = {part: (end, end) for part, end in self.ends.items()}
        began, cpu = time.perf_counter(), time.process_time()
        self._slot.warm_up(
            StageRequest(batch=1_000_000, stage=0, slots=1, clock_ms=1, ranges=ranges)
        )
        took = time.perf_counter() - began, time.process_time() - cpu
        states = self._slot.tasks.values()
        return sum(r.records for state in states for r in state.databases.restores.values()), *took

    def _real(self, topic: str) -> str:
        return f"{self._application.id}-{topic}"

    def close(self) -> None:
        self._slot.close(Release())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _to_kafka(self, bootstrap: str, config: StreamsConfig, log: Log) -> None:
        admin = Admin({"bootstrap.servers": bootstrap})
        for topic in {topic for topic, _ in log} | {self._topics.output}:
            admin.create_topic(topic, partitions=PARTITIONS)
        admin.create_topics(internal_topics(self._application.plan, config))
        producer = Producer(
            {"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 10_000_000,
             "linger.ms": 50}
        )  # fmt: skip
        for (topic, number), kept in log.items():
            for record in kept:
                producer.produce(
                    topic, record.value, record.key, number, timestamp=record.timestamp
                )
            producer.poll(0)
        producer.flush()
        application = self._application
        batches = BatchLog(
            application.batches_topic, application.consumer, application.producer,
            exactly_once=True,
        )  # fmt: skip
        batches.take_generation(1, _RUN_ID)
        self._clients = KafkaClients(application)
        consumer = new_consumer(self._application.consumer)
        self._group = consumer.consumer_group_metadata()
        consumer.close()


def _external(plan: Plan, stage: int) -> list[TopicPartition]:
    """Return the partitions that a stage reads of topics that are not internal."""
    return [part for run in plan.runs_of(stage) for parts in plan.inputs_of(run) for part in parts]


def _generated(workload: str, records: int, topics: Topics, keys: int) -> Log:
    names = {"input": topics.input, "table": topics.table}
    base_ms = time.time_ns() // 1_000_000 // 3_600_000 * 3_600_000 - 3_600_000
    log: Log = {}
    for kind, pairs in inputs(workload, records, base_ms, keys).items():
        for number in range(PARTITIONS):
            log[names[kind], number] = []
        for key, value, at in pairs:
            number = partition_for(key, PARTITIONS)
            kept = log[names[kind], number]
            kept.append(RawRecord(names[kind], number, len(kept), at, key, value))
    return log
