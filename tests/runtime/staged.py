"""Runs a topology as the Spark runtime does, stage by stage, without Spark and without Kafka.

The plan, the slots, their tasks, outputs, changelogs and markers are the real ones. In place of
Spark there are loops, and a shuffle that keeps no order; in place of Kafka there is
``memory_kafka``; in place of RocksDB there are maps in memory that outlive a restart.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.config import StreamsConfig
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.application_run import has_wall_clock
from penstock.runtime.spark.driver.topics import (
    batches_topic,
    internal_topics,
    resolve_patterns,
    source_partitions,
)
from penstock.runtime.spark.exchange.batch_log import BatchPlan
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.runtime.spark.exchange.rows import RowBuffer, ShuffleRow, reports
from penstock.runtime.spark.exchange.stage_request import Application, Report, StageRequest
from penstock.runtime.spark.worker.slot import Slot
from penstock.state.memory import MemoryStore
from penstock.topology.graph import Graph
from tests.runtime.memory_kafka import MemoryClients, MemoryKafka

Part = tuple[str, int]
#: The share of new slots that are warmed up; the others meet their first batch cold.
_WARM = 0.6


class Disk:
    """Maps by directory: what is on disk when a process ends."""

    def __init__(self) -> None:
        self._stores: dict[Path, MemoryStore] = {}

    def open(self, directory: Path, store: str, configs: Mapping[str, Any]) -> MemoryStore:
        return self._stores.setdefault(directory, _Kept())

    def lose(self) -> None:
        self._stores.clear()


class _Kept(MemoryStore):
    def close(self) -> None:
        return None


class StagedApplication:
    """One application over topics in memory. Topics must exist before it is made."""

    def __init__(
        self,
        graph: Graph,
        config: Mapping[str, Any],
        kafka: MemoryKafka,
        *,
        slots: int = 1,
        seed: int = 0,
    ) -> None:
        self.kafka = kafka
        self.slots = slots
        self._directory = Path(tempfile.mkdtemp(prefix="penstock-staged-"))
        self._config = StreamsConfig({**config, "state.dir": str(self._directory)})
        self._random = random.Random(seed)
        self._disk = Disk()
        existing = kafka.topics()
        resolved = resolve_patterns(graph, existing)
        self.plan = make_plan(resolved, source_partitions(resolved, existing))
        application_id = config["application.id"]
        for spec in internal_topics(self.plan, self._config):
            kafka.create(spec.name, spec.partitions)
        self.application = Application(
            id=application_id, plan=self.plan, config=dict(self._config),
            state_dir=str(self._directory), exactly_once=True, consumer={}, producer={},
            epoch="staged", batches_topic=batches_topic(application_id),
        )  # fmt: skip
        self._clients = MemoryClients(kafka, self.application.batches_topic)
        self._clocks: dict[TaskId, Clocks] = {}
        self._slots: dict[int, Slot] = {}
        self._last: BatchPlan | None = None
        #: Whether the last batch has begun and not ended.
        self._is_open = False
        self.needs_empty_batches = has_wall_clock(resolved)

    # Batches

    def position(self) -> dict[Part, int]:
        """Where the next batch begins."""
        if self._last is not None:
            return dict(self._last.end)
        return dict.fromkeys(self._ends(), 0)

    def has_waiting(self) -> bool:
        """Whether source or global topics have records that no batch has read."""
        at = self.position()
        if any(end > at[part] for part, end in self._ends().items()):
            return True
        return self._last is not None and self._global_ends() != self._last.global_ends

    def run_batch(self, clock_ms: int, *, at_most: int | None = None) -> list[Report]:
        """Plans a batch up to the end of every topic and runs it."""
        ends = self._ends()
        if at_most is not None:
            start = self.position()
            ends = {part: min(end, start[part] + at_most) for part, end in ends.items()}
        number = 0 if self._last is None else self._last.batch + 1
        plan = BatchPlan(number, self.position(), ends, clock_ms, self._global_ends())
        return self.run_plan(BatchPlan.from_json(plan.to_json()))

    def run_again(self) -> list[Report]:
        """Runs the last batch once more after a crash: its markers say what is done."""
        assert self._last is not None
        return self.run_plan(self._last)

    def run_plan(self, plan: BatchPlan) -> list[Report]:
        self._last, self._is_open = plan, True
        log = self._clients.batch_log()
        waiting: dict[int, list[ShuffleRow]] = {}
        for stage in range(self.plan.stages):
            order = StageRequest(
                batch=plan.batch,
                stage=stage,
                slots=self.slots,
                clock_ms=plan.clock_ms,
                ranges={part: (plan.start[part], end) for part, end in plan.end.items()},
                clocks=self._clocks,
                done=log.done(plan.batch, stage),
                global_ends=plan.global_ends,
            )
            if stage == 0:
                self._warm_up(order)
            sent: list[ShuffleRow] = []
            for number in range(self.slots):
                inputs = _batches(waiting.get(number, [])) if stage else iter(())
                for batch in self._slot(number).run(order, inputs):
                    columns = batch.to_pydict().values()
                    sent.extend(map(ShuffleRow._make, zip(*columns, strict=True)))
            # A Spark shuffle keeps no order.
            self._random.shuffle(sent)
            waiting = {}
            for row in sent:
                waiting.setdefault(row.slot, []).append(row)
        received = reports(row._asdict() for rows in waiting.values() for row in rows)
        for report in sorted(received, key=lambda each: each.stage):
            self._clocks[report.task] = report.clocks
        self._is_open = False
        return received

    def _warm_up(self, order: StageRequest) -> None:
        """Some slots that are new get ready before they know how far the batch will go."""
        if self.needs_empty_batches:
            return
        open_ended = {part: (start, start) for part, (start, _) in order.ranges.items()}
        for number in range(self.slots):
            if number not in self._slots and self._random.random() < _WARM:
                self._slot(number).warm_up(replace(order, ranges=open_ended, done=frozenset()))

    # Ends and new beginnings

    def restart(self, *, lose_state: bool = False) -> None:
        """Closes every slot; the next batch finds the state on disk, or restores all of it."""
        for slot in self._slots.values():
            slot.close(self._complete)
        self._begin_anew(lose_state=lose_state)

    def crash(self, *, lose_state: bool = False) -> None:
        """Ends every slot inside the last batch: what was not applied before it is not on disk."""
        self._is_open = True
        for slot in self._slots.values():
            slot.close(self._complete)
        self._begin_anew(lose_state=lose_state)

    def _begin_anew(self, *, lose_state: bool) -> None:
        self._slots.clear()
        if lose_state:
            self._disk.lose()
        log = self._clients.batch_log()
        last = self._last
        self._clocks = log.clocks_at(0 if last is None else last.batch + (not self._is_open))
        assert last is None or all(batch <= last.batch for batch in log.markers.values())

    def close(self) -> None:
        for slot in self._slots.values():
            slot.close(self._complete)
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def _complete(self) -> int:
        if self._last is None:
            return -1
        return self._last.batch - 1 if self._is_open else self._last.batch

    # What it knows

    def stores(self) -> dict[str, list[Any]]:
        """Every store by name, one per partition; global ones as slot 0 has them."""
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

    def slot_of(self, partition: int) -> Slot:
        return self._slot(partition % self.slots)

    # Inside

    def _slot(self, number: int) -> Slot:
        if number not in self._slots:
            self._slots[number] = Slot(self.application, number, self._clients, self._disk.open)
        return self._slots[number]

    def _ends(self) -> dict[Part, int]:
        topics = {topic: self.plan.partitions[topic] for topic in self.plan.external_topics}
        return self.kafka.ends(topics)

    def _global_ends(self) -> dict[Part, int]:
        topics = [store.topic for store in self.plan.graph.global_stores.values()]
        return self.kafka.ends({topic: self.plan.partitions[topic] for topic in topics})


def _batches(rows: list[ShuffleRow]) -> Iterator[pa.RecordBatch]:
    return RowBuffer(list(rows)).batches()
