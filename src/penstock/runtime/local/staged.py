"""Run a topology as the Spark runtime does, stage by stage, without Spark and without Kafka.

The plan, the slots, their tasks, outputs, changelogs, repartition topics and markers are those of
the Spark runtime. Loops replace Spark, ``memory_kafka`` replaces Kafka, and maps in memory that
outlive a restart replace RocksDB.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kernel.clocks import Clocks
from penstock.kernel.columns.column_task import ColumnTask
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.local.memory_clients import MemoryAdmin, MemoryClients
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.topics import (
    batches_topic,
    internal_topics,
    resolve_patterns,
    source_partitions,
)
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.runtime.spark.exchange.stage_request import (
    NO_LIMITS,
    Application,
    Limits,
    Release,
    Report,
    StageRequest,
)
from penstock.runtime.spark.worker.slot import Slot
from penstock.state.engine.memory import MemoryStore
from penstock.topology.graph import Graph

#: The probability that a new slot is warmed up before its first batch.
_WARM = 0.6


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """The input of one batch of all slots."""

    batch: int
    start: Mapping[TopicPartition, int]
    end: Mapping[TopicPartition, int]
    clock_ms: int
    global_ends: Mapping[TopicPartition, int]
    #: The offsets at which the batch before this one stopped reading global topics.
    global_start: Mapping[TopicPartition, int]


class MemoryDisk:
    """Keep stores by directory after the slot that opened them has closed, as a disk does."""

    def __init__(self) -> None:
        self._stores: dict[Path, MemoryStore] = {}

    def open(self, directory: Path, store: str, configs: Mapping[str, Any]) -> MemoryStore:
        """Return the store of a directory; create it if there is none."""
        return self._stores.setdefault(directory, _KeptStore())

    def lose(self) -> None:
        """Forget every store."""
        self._stores.clear()


class _KeptStore(MemoryStore):
    def close(self) -> None:
        return None


class StagedApplication:
    """Run one application over topics in memory, one batch whenever the caller asks for it.

    Source and output topics must exist before the application is created.

    Args:
        graph: The topology's graph. Patterns are resolved against the topics that exist.
        config: Settings; ``application.id`` is required and ``state.dir`` is replaced.
        kafka: The topics.
        slots: How many slots share the tasks.
        seed: Decides which new slots are warmed up before their first batch.
        limits: When a slot ends a stage early.
        after: An application that was closed. This one continues where it ended, without its state.
    """

    def __init__(
        self,
        graph: Graph,
        config: Mapping[str, Any],
        kafka: MemoryKafka,
        *,
        slots: int = 1,
        seed: int = 0,
        limits: Limits = NO_LIMITS,
        after: StagedApplication | None = None,
    ) -> None:
        self._limits = limits
        self.kafka = kafka
        self.slots = slots
        self._directory = Path(tempfile.mkdtemp(prefix="penstock-staged-"))
        self._config = StreamsConfig({**config, "state.dir": str(self._directory)})
        self._random = random.Random(seed)
        self._disk = MemoryDisk()
        existing = kafka.topics()
        resolved = resolve_patterns(graph, existing)
        self.plan = make_plan(resolved, source_partitions(resolved, existing))
        application_id = config["application.id"]
        for spec in internal_topics(self.plan, self._config):
            kafka.create(spec.name, spec.partitions)
        self.application = Application(
            id=application_id, plan=self.plan, config=dict(self._config),
            state_dir=str(self._directory), exactly_once=True, consumer={}, producer={}, admin={},
            restore_consumer={}, global_consumer={}, generation=1, run_id="staged",
            batches_topic=batches_topic(application_id),
        )  # fmt: skip
        self._clients = MemoryClients(kafka, self.application.batches_topic)
        #: The clocks of each task in its last report.
        self.clocks: dict[TaskId, Clocks] = {}
        self._slots: dict[int, Slot] = {}
        self._last: StagedBatch | None = None
        #: Whether no batch has run since the slots were created.
        self._is_new = True
        self._position: dict[TopicPartition, int] = {}
        self._internal = self._internal_positions()
        self.needs_empty_batches = self.plan.has_wall_clock
        if after is not None:
            self._last, self.clocks = after._last, after.clocks
            self._begin_anew(lose_state=True)

    def _internal_positions(self) -> InternalPositions:
        """Return the positions in repartition topics, as a new driver finds them.

        They are in the offsets of the consumer group and in the batch log.
        """
        prefix = f"{self.application.id}-"
        known = {(t.removeprefix(prefix), n): at for (t, n), at in self.kafka.group.items()}
        skips = self._clients.batch_log().skips()
        admin = cast("Admin", MemoryAdmin(self.kafka))
        found = InternalPositions(self.plan, admin, lambda t: f"{prefix}{t}", known, skips, 1e9)
        found.begin()
        return found

    # Batches

    def position(self) -> dict[TopicPartition, int]:
        """Return the offset at which the next batch begins, for every source partition."""
        return {part: self._position.get(part, 0) for part in self._ends()}

    def has_waiting(self) -> bool:
        """Return whether there are records that no batch has read."""
        at = self.position()
        if any(end > at[part] for part, end in self._ends().items()):
            return True
        if self._internal.has_leftover():
            return True
        return self._last is not None and self._global_ends() != self._last.global_ends

    def run_batch(self, clock_ms: int, *, at_most: int | None = None) -> list[Report]:
        """Plan a batch up to the end of every partition, or ``at_most`` offsets of it; run it."""
        ends = self._ends()
        if at_most is not None:
            start = self.position()
            ends = {part: min(end, start[part] + at_most) for part, end in ends.items()}
        number = 0 if self._last is None else self._last.batch + 1
        told = {} if self._last is None else self._last.global_ends
        plan = StagedBatch(number, self.position(), ends, clock_ms, self._global_ends(), told)
        return self.run_plan(plan)

    def run_again(self) -> list[Report]:
        """Run the last batch once more, after a crash. Tasks that have committed it skip it."""
        assert self._last is not None
        return self.run_plan(self._last, is_rerun=True)

    def run_plan(self, plan: StagedBatch, *, is_rerun: bool = False) -> list[Report]:
        """Run the stages of a planned batch in all slots and return their reports."""
        self._last = plan
        received: list[Report] = []
        if is_rerun:
            self._internal.refresh(self._internal.written())
        for stage in range(self.plan.stages):
            request = self._request(plan, stage, is_rerun=is_rerun)
            if stage == 0:
                self._warm_up(request)
            reports: list[Report] = []
            for number in range(self.slots):
                reports += self._slot(number).run(request)
            self._internal.advance(reports)
            if any(report.is_repeated for report in reports):
                self._internal.refresh(self._internal.written())
            received += reports
        for report in sorted(received, key=lambda each: each.stage):
            self._position.update(
                {part: at for part, at in report.positions.items() if part in plan.end}
            )
            if report.clocks is not None:
                self.clocks[report.task] = report.clocks
        self._is_new = False
        return received

    def _request(self, plan: StagedBatch, stage: int, *, is_rerun: bool) -> StageRequest:
        external = {
            part: (plan.start[part], plan.end[part])
            for run in self.plan.runs_of(stage)
            for parts in self.plan.inputs_of(run)
            for part in parts
        }
        sources = set(self.plan.graph.source_changelogs.values())
        return StageRequest(
            batch=plan.batch,
            stage=stage,
            slots=self.slots,
            clock_ms=plan.clock_ms,
            ranges=external | self._internal.ranges(stage, range(1 << 20)),
            skips=self._internal.skips,
            table_positions={part: at for part, at in plan.start.items() if part[0] in sources},
            is_rerun=is_rerun,
            is_first=self._is_new,
            has_leftover=self._internal.has_leftover(),
            global_ends=plan.global_ends,
            global_start=plan.global_start,
            limits=self._limits,
        )

    def _warm_up(self, request: StageRequest) -> None:
        """Warm some of the new slots up, with a request that does not yet have the batch's ranges.

        The real driver does the same before it plans the first batch.
        """
        if self.needs_empty_batches:
            return
        open_ended = {part: (start, start) for part, (start, _) in request.ranges.items()}
        for number in range(self.slots):
            if number not in self._slots and self._random.random() < _WARM:
                self._slot(number).warm_up(replace(request, ranges=open_ended))

    # Restarts

    def restart(self, *, lose_state: bool = False) -> None:
        """Close every slot. The next batch finds the state on disk, or restores all of it."""
        for slot in self._slots.values():
            slot.close(Release())
        self._begin_anew(lose_state=lose_state)

    def crash(self, *, lose_state: bool = False) -> None:
        """End every slot without closing it. Only writes that were applied are on disk."""
        for slot in self._slots.values():
            for state in slot.tasks.values():
                # When a process ends, the operating system releases its locks.
                state.databases.lock.release()
        self._begin_anew(lose_state=lose_state)

    def _begin_anew(self, *, lose_state: bool) -> None:
        self._slots.clear()
        self._is_new = True
        if lose_state:
            self._disk.lose()
        self._internal = self._internal_positions()
        self._position = {p: at for p, at in self.kafka.group.items() if p in self._ends()}

    def close(self) -> None:
        """Close every slot and remove the state directory."""
        for slot in self._slots.values():
            slot.close(Release())
        shutil.rmtree(self._directory, ignore_errors=True)

    # Results

    def stores(self) -> dict[str, list[Any]]:
        """Return every store by name, one per partition; for global stores the copy of slot 0."""
        found: dict[str, list[Any]] = {}
        slots = [self._slot(number) for number in range(self.slots)]
        states = {task: state for slot in slots for task, state in slot.tasks.items()}
        for task, state in sorted(states.items()):
            for name in self.plan.subtopologies[task.subtopology].stores(self.plan.graph):
                if state.has_store(name):
                    found.setdefault(name, []).append(state.store(name))
        for name, store in self._slot(0).global_stores.items():
            found[name] = [store]
        return found

    @property
    def column_batches(self) -> int:
        """Return how many batches of tasks ran over columns since the slots were created."""
        return sum(columns.batches for columns in self._column_tasks())

    @property
    def column_reasons(self) -> Counter[str]:
        """Return why the other batches of tasks with a column plan did not, with their counts."""
        return sum((columns.reasons for columns in self._column_tasks()), Counter[str]())

    def _column_tasks(self) -> list[ColumnTask]:
        tasks = [state.kernel for slot in self._slots.values() for state in slot.tasks.values()]
        return [task.columns for task in tasks if task is not None and task.columns is not None]

    def slot_of(self, partition: int) -> Slot:
        """Return the slot that runs the tasks of a partition."""
        return self._slot(partition % self.slots)

    # Inside

    def _slot(self, number: int) -> Slot:
        if number not in self._slots:
            self._slots[number] = Slot(
                self.application, number, "staged", self._clients, self._disk.open
            )
        return self._slots[number]

    def _ends(self) -> dict[TopicPartition, int]:
        topics = {topic: self.plan.partitions[topic] for topic in self.plan.external_topics}
        return self.kafka.ends(topics)

    def _global_ends(self) -> dict[TopicPartition, int]:
        topics = [store.topic for store in self.plan.graph.global_stores.values()]
        return self.kafka.ends({topic: self.plan.partitions[topic] for topic in topics})
