"""A slot: what a Spark task runs. It owns stream tasks, their state, a reader and a producer.

A slot lives in one Python worker and stays there between batches, because state, clients and
processors are warm there. Spark may run the slot's next task in another worker: that one passes
the order on to the owner over a local socket.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.config import StreamsConfig
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.settings import TaskSettings
from penstock.model.task_id import TaskId
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.faults import fault_point, set_faults
from penstock.runtime.spark.exchange.plan import Run
from penstock.runtime.spark.exchange.rows import RowBuffer, Sent, split_stage
from penstock.runtime.spark.exchange.stage_request import Application, Report, Restore, StageRequest
from penstock.runtime.spark.worker.clients import Clients, KafkaClients
from penstock.runtime.spark.worker.global_copy import GlobalCopy
from penstock.runtime.spark.worker.markers import write_marker, write_plan
from penstock.runtime.spark.worker.memory import keep_freed_memory, no_garbage_collection
from penstock.runtime.spark.worker.output import TaskOutput, Writer
from penstock.runtime.spark.worker.reader import Reader
from penstock.runtime.spark.worker.task_state import TaskState
from penstock.state.rocks import OpenEngine, open_rocks

log = logging.getLogger(__name__)

_PLACE = f"{os.uname().nodename}-{uuid.uuid4().hex[:8]}"


def worker_name() -> str:
    """Names this worker process; asked each time, because workers are forked after the import."""
    return f"{_PLACE}-{os.getpid()}"


class Slot:
    """Runs its share of the tasks of every stage. One batch at a time."""

    def __init__(
        self,
        application: Application,
        number: int,
        clients: Clients | None = None,
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        set_faults(application.config)
        keep_freed_memory()
        self.application = application
        self.number = number
        self.lock = threading.Lock()
        #: Held while state moves from the pending writes into the stores, and by readers.
        self.reading = threading.RLock()
        self._plan = application.plan
        self._config = StreamsConfig(application.config)
        self._directory = Path(application.state_dir) / application.id
        # Emission must depend on the records alone, not on when a batch happens to run.
        self._settings = task_settings(self._config, emit_interval_ms=0, state_dir=self._directory)
        self._tasks: dict[TaskId, TaskState] = {}
        self._clients = clients or KafkaClients(application)
        self._open_engine = open_engine
        self._writer: Writer | None = None
        self._reader: Reader | None = None
        self._restorer: Reader | None = None
        self._rows = RowBuffer()
        self._last: tuple[int, int] | None = None
        #: The batch that everything is ready for, and what the batch log said then.
        self._ready_for: tuple[StageRequest, LogState] | None = None
        self._global = GlobalCopy(application, self._settings, number, self._clients, open_engine)

    def warm_up(self, first: StageRequest | None = None) -> None:
        """Makes the clients, and the state for a first batch: what needs none of its records."""
        with self.lock:
            if self._writer is None:
                self._writer = self._clients.writer(self.number)
            if self._reader is None:
                self._reader = self._clients.reader()
            if first is not None and self._last is None and self._ready_for is None:
                try:
                    self._get_ready(first, self._writer, self._reader)
                except BaseException:
                    self._fail()
                    raise

    def _get_ready(self, first: StageRequest, writer: Writer, reader: Reader) -> None:
        """Opens stores, reads them back and plans the tasks, as the batch would do it itself."""
        found = self._clients.batch_log()
        tasks = {task for stage in range(self._plan.stages) for _, task in self._work(stage, first)}
        with self.reading:
            self._global.catch_up(first.global_ends)
            for task in sorted(tasks):
                self._prepared(task, first, writer)
        reader.connect(part for part in first.ranges if part[1] % first.slots == self.number)
        self._ready_for = first, found

    # One stage

    def run(
        self, order: StageRequest, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """Runs this slot's tasks of the order's stage and gives rows for later stages."""
        shuffled, others = split_stage(batches, order.stage)
        yield from others
        with self.lock:
            try:
                with no_garbage_collection():
                    self._run(order, shuffled)
            except BaseException:
                self._fail()
                raise
            yield from self._rows.batches()
            self._rows.rows.clear()

    def _run(self, order: StageRequest, shuffled: list[Sent]) -> None:
        self._rows.rows.clear()
        # A new writer ends what an older owner had open: only then do the markers tell all.
        writer = self._writer_for(order)
        order = self._with_markers(order)
        with self.reading:
            self._global.catch_up(order.global_ends)
        work = self._work(order.stage, order)
        self._release(order)
        with self.reading:
            states = {task: self._prepared(task, order, writer) for _, task in work}
        fault_point("prepared", order)
        records = self._read(work, order)
        fault_point("read", order)
        writer.begin()
        reports = [
            self._run_task(states[task], run, order, records, shuffled) for run, task in work
        ]
        fault_point("processed", order)
        self._commit(work, states, reports, order, writer)
        fault_point("committed", order)
        with self.reading:
            for state in states.values():
                state.seal()
        for report in reports:
            self._rows.report(report)

    def _work(self, stage: int, order: StageRequest) -> list[tuple[Run, TaskId]]:
        """The tasks of this slot in a stage."""
        return [
            (run, TaskId(run.subtopology, number))
            for run in self._plan.runs_of(stage)
            for number in range(self._plan.tasks(run.subtopology))
            if number % order.slots == self.number
        ]

    def _with_markers(self, order: StageRequest) -> StageRequest:
        """Looks into the batch log itself where the driver's word may be out of date.

        Spark may run a task again on its own, after the first attempt had committed.
        """
        step = (order.batch, order.stage)
        is_next = self._last is not None and self._last < step
        self._last = step
        ready_for, self._ready_for = self._ready_for, None
        if is_next:
            return order
        if ready_for is not None and _begins_like(order, ready_for[0]):
            found = ready_for[1]
        else:
            for state in self._tasks.values():
                # What they hold is not the state before this batch.
                state.discard()
            found = self._clients.batch_log()
        return replace(order, done=order.done | found.done(order.batch, order.stage))

    def _run_task(
        self,
        state: TaskState,
        run: Run,
        order: StageRequest,
        records: dict[tuple[str, int], RawColumns],
        shuffled: list[Sent],
    ) -> Report:
        started = time.monotonic()
        task, restores = state.task_id, tuple(state.restores.values())
        state.restores = {}
        is_replay = task in order.done
        state.output.start_run(order.batch, order.stage, is_replay=is_replay)
        own = {topic: records[topic, task.partition] for topic in run.topics
               if (topic, task.partition) in records}  # fmt: skip
        mine = [s for s in shuffled if s.partition == task.partition and s.topic in run.topics]
        count = state.run(own, mine)
        logged = state.write_changelogs(is_replay=is_replay)
        kernel = state.kernel
        assert kernel is not None
        dropped = dict(kernel.dropped_records)
        kernel.dropped_records.clear()
        return Report(
            task, order.stage, self.number, worker_name(), count, state.output.sent, logged,
            restores, time.monotonic() - started, kernel.clocks(), dropped,
            kernel.has_wall_clock_punctuations,
        )  # fmt: skip

    def _commit(
        self,
        work: list[tuple[Run, TaskId]],
        states: dict[TaskId, TaskState],
        reports: list[Report],
        order: StageRequest,
        writer: Writer,
    ) -> None:
        fresh = [report for report in reports if report.task not in order.done]
        if fresh and writer.is_transactional:
            write_plan(writer, self.application, order)
        for report in fresh:
            write_marker(writer, self.application, order, report)
        offsets = {
            (topic, task.partition): order.ranges[topic, task.partition][1]
            for run, task in work
            for topic in run.topics
            if task not in order.done and (topic, task.partition) in order.ranges
        }
        fault_point("written", order)
        if self._reader is not None:
            # Nothing is computed until the next order comes.
            self._reader.read_ahead()
        writer.commit(offsets, order.group)
        if not writer.is_transactional:
            return
        # Delivery reports arrive with the commit; only now are the changelogs' ends known.
        writer.flush()

    # What a stage needs

    def _prepared(self, task: TaskId, order: StageRequest, writer: Writer) -> TaskState:
        state = self._tasks.get(task)
        if state is None:
            output = TaskOutput(task, self._plan, self._settings, writer, self._rows, order.slots)
            state = self._tasks[task] = TaskState(
                task, self._plan, self._settings, output, self._directory, self._global.stores,
                self._open_engine,
            )  # fmt: skip
        state.output.writer = writer
        state.output.slots = order.slots
        state.prepare(order, self._restore_reader, self._clients.watermarks)
        return state

    def _read(
        self, work: list[tuple[Run, TaskId]], order: StageRequest
    ) -> dict[tuple[str, int], RawColumns]:
        wanted = {
            (topic, task.partition): order.ranges[topic, task.partition]
            for run, task in work
            for topic in run.topics
            if (topic, task.partition) in order.ranges
        }
        if not wanted:
            return {}
        if self._reader is None:
            self._reader = self._clients.reader()
        return self._reader.read_columns(wanted)

    def _writer_for(self, order: StageRequest) -> Writer:
        last_owner = order.owners.get(self.number)
        if self._writer is not None and last_owner not in (None, worker_name()):
            # Another worker had this slot meanwhile and has fenced this producer.
            self._writer = None
        if self._writer is not None and not self._writer.is_usable:
            self._writer = None
        if self._writer is None:
            self._writer = self._clients.writer(self.number)
        return self._writer

    def _restore_reader(self) -> Reader:
        if self._restorer is None:
            self._restorer = self._clients.restorer()
        return self._restorer

    # Letting go

    def _release(self, order: StageRequest) -> None:
        """Closes tasks that now belong to another slot."""
        for task in [t for t in self._tasks if t.partition % order.slots != self.number]:
            self._tasks.pop(task).close(order.batch - 1)

    def _fail(self) -> None:
        """Leaves nothing of a failed batch behind."""
        self._rows.rows.clear()
        self._last = self._ready_for = None
        for state in self._tasks.values():
            state.discard()
        # They stand somewhere inside the ranges of this batch.
        self._close_readers()
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.abort()
            except Exception as error:  # noqa: BLE001 - the batch's own error matters more
                log.warning("slot %d: the transaction could not be aborted: %s", self.number, error)

    def close(self, complete: int) -> None:
        """Brings everything up to the last batch that is ``complete`` to disk."""
        with self.lock:
            for state in self._tasks.values():
                state.close(complete)
            self._tasks.clear()
            self._global.close()
            self._close_readers()
            self._clients.close()
            self._writer = None

    def _close_readers(self) -> None:
        for reader in (self._reader, self._restorer):
            if reader is not None:
                reader.close()
        self._reader = self._restorer = None

    def restoring(self) -> list[Restore]:
        """What is being read back right now; asked from other threads while a batch runs."""
        states = list(self._tasks.values())
        found = [each for state in states for each in list(state.restores.values())]
        return [each for each in found if each.position < each.end]

    @property
    def settings(self) -> TaskSettings:
        return self._settings

    @property
    def tasks(self) -> dict[TaskId, TaskState]:
        return self._tasks

    @property
    def global_stores(self) -> dict[str, Any]:
        return self._global.stores


def _begins_like(order: StageRequest, first: StageRequest) -> bool:
    """Whether a slot that is ready for the one is ready for the other."""
    starts = {part: start for part, (start, _) in order.ranges.items()}
    return (order.batch, order.stage, order.slots) == (first.batch, 0, first.slots) and starts == {
        part: start for part, (start, _) in first.ranges.items()
    }
