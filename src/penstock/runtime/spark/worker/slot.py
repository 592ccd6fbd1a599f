"""A slot: what Kafka Streams calls a stream thread.

A slot owns stream tasks, their state, a reader and a producer. It lives in the process of a stream
thread and stays there between batches, so that stores, connections and processors stay open. It
commits each stage of a batch in one transaction, whatever other slots do.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.config import (
    REPARTITION_FORMAT,
    STATE_CLEANUP_DELAY_MS,
    STATE_CLEANUP_DIR_MAX_AGE_MS,
    StreamsConfig,
)
from penstock.kernel.clocks import Clocks
from penstock.kernel.settings import TaskSettings
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.logs import is_fault, log_about, use_log_format
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.exchange.batch_log import LogState, Marker
from penstock.runtime.spark.exchange.bundles import split_sent
from penstock.runtime.spark.exchange.faults import fault_point, set_faults
from penstock.runtime.spark.exchange.plan import Run
from penstock.runtime.spark.exchange.stage_request import (
    Application,
    Release,
    Report,
    Restore,
    StageRequest,
)
from penstock.runtime.spark.exchange.work import NONE, size_of, total
from penstock.runtime.spark.worker.clients import Clients, KafkaClients
from penstock.runtime.spark.worker.global_copy import GlobalCopy
from penstock.runtime.spark.worker.markers import (
    check_leader,
    check_newest,
    check_open,
    letters_written,
    newest_step,
    stale_request,
    write_global_ends,
    write_marker,
)
from penstock.runtime.spark.worker.memory import keep_freed_memory, no_garbage_collection
from penstock.runtime.spark.worker.reader import Reader, ReadRanges
from penstock.runtime.spark.worker.refusals import RefusalWatch, is_refusal, noticed
from penstock.runtime.spark.worker.slot_restore import restore_tasks
from penstock.runtime.spark.worker.task_databases import store_failure
from penstock.runtime.spark.worker.task_inputs import TaskInputs, by_topic, repeated, stayed
from penstock.runtime.spark.worker.task_output import TaskOutput, send_bundles
from penstock.runtime.spark.worker.task_state import TaskState
from penstock.runtime.spark.worker.traces.slot_traces import SlotTraces
from penstock.runtime.spark.worker.writer import Writer
from penstock.state.engine.rocks import OpenEngine, open_rocks
from penstock.state.task_directory import remove_unused

log = logging.getLogger(__name__)

#: After so long without any record of a partition, the other partitions go on.
_STUCK_S = 1.0
#: The shortest time until a commit that a processor asked for. A processor may ask after every
#: record.
_COMMIT_S = 0.05


class Slot:
    """Run this slot's share of the tasks of every stage, one stage at a time."""

    def __init__(
        self,
        application: Application,
        number: int,
        server: str = "",
        clients: Clients | None = None,
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        set_faults(application.config)
        keep_freed_memory()
        self.application = application
        self.number = number
        self.lock = threading.Lock()
        #: Held while state changes, and by threads that answer queries.
        self.reading = threading.RLock()
        self._server = server
        #: A request that has waited for the end of this slot must not open its stores again.
        self._is_closed = False
        self._plan = application.plan
        self._config = StreamsConfig(application.config)
        use_log_format(self._config)
        self._directory = Path(application.state_dir) / application.id
        # What a windowed aggregation emits must depend on the records alone, not on the time at
        # which a batch runs.
        self._settings = task_settings(self._config, emit_interval_ms=0, state_dir=self._directory)
        self._cleanup_s = self._config[STATE_CLEANUP_DELAY_MS] / 1000
        self._cleaned = self.asked = time.monotonic()
        max_age_ms = self._config[STATE_CLEANUP_DIR_MAX_AGE_MS]
        if max_age_ms >= 0:
            # This must happen before any task opens its folder. Old state may have rows whose
            # tombstones the changelog no longer has. So it is deleted and restored in full.
            remove_unused(self._directory, max_age_ms / 1000, keep=set())
        self._tasks: dict[TaskId, TaskState] = {}
        self._clients = clients or KafkaClients(application)
        self._open_engine = open_engine
        self._writer: Writer | None = None
        self._reader: Reader | None = None
        self._restorer: Reader | None = None
        #: The state of the batch log when this slot last read it.
        self._log: LogState | None = None
        #: By batch and stage, for the newest batch only: the number of slots in the request, and
        #: the reports that this slot returned.
        self._answered: dict[tuple[int, int], tuple[int, list[Report]]] = {}
        #: Set while a batch runs again because Kafka has refused a record of it.
        self._watch: RefusalWatch | None = None
        #: What this slot is doing besides processing records, in words; empty if nothing.
        self.step = ""
        #: What it has committed.
        self.work = NONE
        #: What readers want to see of the next records.
        self.traces = SlotTraces()
        self._global = GlobalCopy(application, self._settings, number, self._clients, open_engine)

    # Getting ready

    def warm_up(self, first: StageRequest) -> None:
        """Make the clients and restore the state before the first batch is planned."""
        with self.lock:
            check_open(self.number, is_closed=self._is_closed)
            try:
                # A restore makes millions of objects that live only briefly. Collecting garbage
                # took a third of its time.
                with no_garbage_collection():
                    self._make_ready(first, self._all_work(first))
                reader = self._main_reader()
                reader.connect(
                    part for part in first.ranges if part[1] % first.slots == self.number
                )
            except BaseException as error:
                self._fail(error)
                raise

    def _make_ready(
        self, request: StageRequest, work: list[tuple[Run, TaskId]]
    ) -> dict[TaskId, Marker]:
        """Make a writer and prepare the tasks; return the tasks that have committed this stage.

        A new writer aborts the open transaction of an older owner of this slot. Only after that
        does the batch log say all that this slot has committed, and whether another driver leads.
        """
        if request.owners.get(self.number, self._server) != self._server:
            # Another server has run this slot since: the state and the writer here are outdated.
            self._start_over()
        if self._writer is not None and (request.is_rerun or not self._writer.is_usable):
            self._writer = None
        is_new = self._writer is None
        clocks: dict[TaskId, Clocks] = {}
        writer = self._writer = self._writer or self._new_writer()
        tasks = {task for _, task in work}
        if is_new or not all(map(self._is_made, tasks)):
            found = self._clients.batch_log()
            check_leader(self.application, found)
            check_newest(self.number, request, found, tasks)
            if self._is_overtaken(found):
                self._start_over()
            self._writer, self._log = writer, found
            clocks = found.clocks()
            # A task may have committed more than the driver knew when it sent the request.
            at = {**request.table_positions, **found.positions()}
            written = letters_written(request, found)
            request = replace(request, table_positions=at, global_start=written)
        assert self._log is not None
        # After its first answer this slot knows what it has committed without the log.
        asks = is_new or not self._answered
        done = self._log.done(request.batch, request.stage) if asks else {}
        self._release(request)
        with self.reading:
            self._global.catch_up(request.global_ends, request.global_start)
            states = [self._state(task, writer) for task in sorted(tasks)]
            restore_tasks(states, request, clocks, self._clients, self._restore_reader)
        return done

    def _is_made(self, task: TaskId) -> bool:
        """Tell whether a task needs nothing more of the batch log."""
        state = self._tasks.get(task)
        return state is not None and (state.is_ready or state.is_restoring)

    def _is_overtaken(self, found: LogState) -> bool:
        """Tell whether another server has run this slot since it last ran here."""
        if self._log is None:
            return False
        known = max([newest_step(self._log, self._tasks), *self._answered])
        return newest_step(found, self._tasks) > known

    def _all_work(self, request: StageRequest) -> list[tuple[Run, TaskId]]:
        stages = range(self._plan.stages)
        return [each for stage in stages for each in self._work(stage, request.slots)]

    def _work(self, stage: int, slots: int) -> list[tuple[Run, TaskId]]:
        """Return the tasks of this slot in a stage."""
        return [
            (run, TaskId(run.subtopology, number))
            for run in self._plan.runs_of(stage)
            for number in range(self._plan.tasks(run.subtopology))
            if number % slots == self.number
        ]

    def _state(self, task: TaskId, writer: Writer) -> TaskState:
        state = self._tasks.get(task)
        if state is None:
            as_records = self._config[REPARTITION_FORMAT] == "records"
            output = TaskOutput(task, self._plan, self._settings, writer, as_records=as_records)
            state = self._tasks[task] = TaskState(
                task, self._plan, self._settings, output, self._directory, self._global.stores,
                self._open_engine, self.traces,
            )  # fmt: skip
        state.output.writer = writer
        # A watched task runs record by record, so that the input of each output is known.
        state.may_use_columns = self._watch is None
        return state

    def _new_writer(self) -> Writer:
        writer = self._clients.writer(self.number, one_by_one=self._watch is not None)
        return writer if self._watch is None else self._watch.around(writer)

    # One stage

    def run(self, request: StageRequest) -> list[Report]:
        """Run this slot's tasks of the stage and commit them.

        If the same request was answered before, the first answer was lost. Then the slot returns
        the same reports and does not run the tasks again.
        """
        with self.lock:
            check_open(self.number, is_closed=self._is_closed)
            slots, reports = self._answered.get(request.step, (0, []))
            if slots == request.slots:
                if request.is_rerun:
                    # Before the driver asked again, it fenced the writers of all slots.
                    self._writer = None
                return reports
            self._refuse_stale(request)
            try:
                with no_garbage_collection(), log_about(batch=request.batch, slot=self.number):
                    reports = self._run(request)
                self.work += total(report.work for report in reports)
            except BaseException as error:
                self._fail(error)
                raise
            finally:
                self.step = ""
            same_batch = {
                step: each for step, each in self._answered.items() if step[0] == request.batch
            }
            self._answered = {**same_batch, request.step: (request.slots, reports)}
            self.asked = time.monotonic()
            self._clean_up()
            return reports

    def _refuse_stale(self, request: StageRequest) -> None:
        newest = max(self._answered, default=request.step)
        # A batch that runs again begins with its first stage, even if this slot was further.
        is_same = request.is_rerun and newest[0] == request.batch
        if newest > request.step and not is_same:
            raise stale_request(self.number, request, f"batch {newest[0]} stage {newest[1]}")

    def _run(self, request: StageRequest) -> list[Report]:
        everything = self._work(request.stage, request.slots)
        self.step = "gets its tasks ready"
        done = self._make_ready(request, everything)
        if request.stage == 0 and not request.has_leftover:
            for state in self._tasks.values():
                state.settle()
        left = [(run, task) for run, task in everything if task not in done]
        ready = [(run, task) for run, task in left if self._tasks[task].is_ready]
        waiting = [each for each in left if each not in ready]
        fault_point("prepared", request)
        self.step = "reads records from Kafka"
        ready = [each for each in ready if self._has_work(*each, request)]
        found = self._read(ready, request)
        fault_point("read", request)
        stuck = {task: parts for run, task in ready if (parts := self._stuck(run, task, found))}
        work = [(run, task) for run, task in ready if task not in stuck]
        reports = self._commit_work(work, request, found)
        for task in done:
            is_waiting = task in self._tasks and self._tasks[task].is_restoring
            report = repeated(task, self.number, request, done[task])
            reports.append(replace(report, is_waiting=is_waiting))
        reports += [stayed(*each, self.number, request, is_waiting=True) for each in waiting]
        reports += [
            stayed(run, task, self.number, request, stuck=stuck[task])
            for run, task in ready if task in stuck
        ]  # fmt: skip
        return [replace(each, changelog_ends=self._changelog_ends(each.task)) for each in reports]

    def _commit_work(
        self, work: list[tuple[Run, TaskId]], request: StageRequest, found: ReadRanges
    ) -> list[Report]:
        """Process and commit what was read, in one transaction."""
        letters, ends = self._global.letters, request.global_ends
        has_letters = request.stage == 0 and letters.has_any(ends)
        if not (work or has_letters):
            return []
        writer = self._writer
        assert writer is not None
        writer.begin()
        reports = self._process(work, request, found, writer)
        if has_letters:
            letters.write(writer, ends)
            write_global_ends(writer, self.application, ends)
        fault_point("processed", request)
        self.step = "waits until Kafka has taken the results of a batch"
        self._commit(reports, request, writer)
        fault_point("committed", request)
        letters.forget(ends)
        with self.reading:
            for _, task in work:
                self._tasks[task].apply(request.batch)
        return reports

    def _has_work(self, run: Run, task: TaskId, request: StageRequest) -> bool:
        """Tell whether a task takes part in a batch: it is asked for, and has something to do."""
        parts = [(topic, task.partition) for topic in run.topics]
        ranges = [request.ranges[part] for part in parts if part in request.ranges]
        if not ranges:
            return False
        state = self._tasks[task]
        assert state.kernel is not None
        has_input = any(start < end for start, end in ranges) or request.is_first
        # The driver does not know yet that a restore is complete.
        has_news = bool(state.databases.restores)
        return has_input or has_news or state.kernel.has_wall_clock_punctuations

    def _stuck(self, run: Run, task: TaskId, found: ReadRanges) -> frozenset[TopicPartition]:
        """Return the partitions of a task from which nothing came although records are there.

        The task waits for them. Otherwise it would process its other inputs out of order.
        """
        real = {
            (self._real(topic), task.partition): (topic, task.partition) for topic in run.topics
        }
        return frozenset(
            real[part] for part in found.stuck if part in real and not len(found.columns[part])
        )

    def _changelog_ends(self, task: TaskId) -> dict[TopicPartition, int]:
        state = self._tasks.get(task)
        return {} if state is None else state.changelog_ends()

    def _read(self, work: list[tuple[Run, TaskId]], request: StageRequest) -> ReadRanges:
        wanted = {
            (self._real(topic), task.partition): request.ranges[topic, task.partition]
            for run, task in work
            for topic in run.topics
            if (topic, task.partition) in request.ranges
        }
        if not wanted:
            return ReadRanges({}, {})
        open_ended = [
            (topic, task.partition)
            for run, task in work
            for topic in run.topics
            if request.may_read_on and not self._plan.is_internal(topic)
        ]
        reader = self._main_reader()
        return reader.read_columns(wanted, request.limits.bytes, _STUCK_S, open_ended)

    def _process(
        self,
        work: list[tuple[Run, TaskId]],
        request: StageRequest,
        found: ReadRanges,
        writer: Writer,
    ) -> list[Report]:
        ends = time.monotonic() + request.limits.seconds
        reports = []
        for place, (run, task) in enumerate(work):
            # The time that is left is divided evenly among the tasks that are left.
            now = time.monotonic()
            until = now + max(ends - now, 0.0) / (len(work) - place)
            with log_about(task=str(task)):
                reports.append(self._run_task(run, task, request, found, until))
        send_bundles((self._tasks[task].output for _, task in work), writer)
        return reports

    def _run_task(
        self, run: Run, task: TaskId, request: StageRequest, found: ReadRanges, until: float
    ) -> Report:
        started = time.monotonic()
        state = self._tasks[task]
        restores = tuple(state.databases.restores.values())
        state.databases.restores.clear()
        state.output.start_run()
        inputs = self._inputs(run, task, request, found)
        if self._watch is not None:
            self._watch.task = state.kernel
        consumed = state.run(
            inputs.records, inputs.sent, inputs.truncated, self._stop(state, started, until)
        )
        kernel = state.kernel
        assert kernel is not None
        logged = state.write_changelogs()
        positions, skips = inputs.positions(consumed)
        dropped = dict(kernel.dropped_records)
        kernel.dropped_records.clear()
        column_errors = {} if kernel.columns is None else kernel.columns.take_errors()
        return Report(
            task=task, stage=request.stage, slot=self.number, records=sum(consumed.values()),
            sent=state.output.sent, logged=logged, restores=restores,
            seconds=time.monotonic() - started, clocks=kernel.clocks(), dropped=dropped,
            column_errors=column_errors, consumed=by_topic(consumed),
            work=inputs.work(consumed) + state.output.work,
            ages=inputs.ages(consumed), has_requested_commit=kernel.commit_was_requested,
            positions=positions, skips=skips, written=state.output.written,
            stuck=frozenset(part for part in inputs.ends if self._is_stuck(part, found)),
        )  # fmt: skip

    def _is_stuck(self, part: TopicPartition, found: ReadRanges) -> bool:
        return (self._real(part[0]), part[1]) in found.stuck

    @staticmethod
    def _stop(state: TaskState, started: float, until: float) -> Callable[[], bool]:
        def stop() -> bool:
            now, kernel = time.monotonic(), state.kernel
            is_asked = kernel is not None and kernel.commit_requested
            return now > until or (is_asked and now - started > _COMMIT_S)

        return stop

    def _inputs(
        self, run: Run, task: TaskId, request: StageRequest, found: ReadRanges
    ) -> TaskInputs:
        inputs = TaskInputs()
        for topic in run.topics:
            part, real = (topic, task.partition), (self._real(topic), task.partition)
            if real not in found.columns:
                continue
            inputs.ends[part] = found.reached[real]
            if found.reached[real] < request.ranges[part][1]:
                inputs.truncated |= {topic}
            if self._plan.is_internal(topic):
                skips = inputs.skips[part] = request.skips.get(part, {})
                inputs.sent_bytes += size_of(found.columns[real].values)
                inputs.sent += split_sent(*part, found.columns[real], skips)
            else:
                inputs.records[topic] = found.columns[real]
                # The next batch begins behind a gap, however long that is.
                inputs.ends[part] = found.following.get(real, inputs.ends[part])
        inputs.sent.sort(key=lambda sent: sent.order)
        return inputs

    def _commit(self, reports: list[Report], request: StageRequest, writer: Writer) -> None:
        try:
            if not writer.is_transactional:
                # Without a transaction, the records must arrive before the marker that says that
                # they are committed.
                writer.commit({}, None)
            for report in reports:
                write_marker(writer, self.application, request, report)
            fault_point("written", request)
            if self._reader is not None:
                # The slot computes nothing until the next request arrives, so it can read.
                self._reader.read_ahead()
            offsets = {
                (self._real(topic), number): at
                for report in reports
                for (topic, number), at in report.positions.items()
            }
            writer.commit(offsets, request.group)
        except Exception as error:
            if self._watch is not None or not is_refusal(error):
                raise
            self._watch = RefusalWatch(
                self._plan.graph, self._settings, is_compressed=self._is_compressed
            )
            self._watch.step = request.step
            raise noticed("Kafka refused a record; the batch runs again to find it") from error
        if self._watch is not None and request.step >= self._watch.step:
            self._watch = None
        # The offsets of the written records are in the delivery reports. All of them have arrived
        # only after this call.
        writer.flush()

    @property
    def _is_compressed(self) -> bool:
        producer = self.application.producer
        return any(
            str(producer.get(name, "none")) != "none"
            for name in ("compression.type", "compression.codec")
        )

    def _real(self, topic: str) -> str:
        return self._settings.topic(topic) if self._plan.is_internal(topic) else topic

    # Clients

    def _main_reader(self) -> Reader:
        if self._reader is None:
            self._reader = self._clients.reader()
        return self._reader

    def _restore_reader(self) -> Reader:
        if self._restorer is None:
            self._restorer = self._clients.restorer()
        return self._restorer

    # Releasing

    def _clean_up(self) -> None:
        """Delete the folders of tasks that have been elsewhere for long, as Kafka Streams does."""
        now = time.monotonic()
        if now - self._cleaned > self._cleanup_s:
            self._cleaned = now
            for folder in (self._directory, *self._directory.glob("standby-*")):
                remove_unused(folder, self._cleanup_s, keep=set())

    def rest(self) -> None:
        """Let the reader rest, since no request has come for a while; the caller has the lock."""
        if self._reader is not None:
            self._reader.rest()

    def _release(self, request: StageRequest) -> None:
        """Close tasks that now belong to another slot."""
        for task in [t for t in self._tasks if t.partition % request.slots != self.number]:
            self._tasks.pop(task).close()

    def _start_over(self) -> None:
        """Drop the writer and everything in memory; state is compared with its changelogs again."""
        for state in self._tasks.values():
            state.discard()
        self._close_readers()
        self._writer = self._log = None
        self._answered = {}

    def _fail(self, error: BaseException) -> None:
        """Discard everything that a failed run has written."""
        writer = self._writer
        self._start_over()
        failure = store_failure(error)
        if failure is not None:
            for state in self._tasks.values():
                state.mend(failure)
            with self.reading:
                # Global tables are built again from their topics.
                self._global.close()
        if writer is not None:
            try:
                writer.abort()
            except Exception as again:
                text = "slot %d: the transaction could not be aborted: %s"
                log.warning(text, self.number, again, exc_info=is_fault(again))

    def close(self, release: Release) -> None:
        """Write all committed state to disk and close; a slot that moves deletes its folders."""
        with self.lock:
            self._is_closed = True
            for task, state in self._tasks.items():
                state.close()
                if release.is_moved:
                    shutil.rmtree(self._directory / str(task), ignore_errors=True)
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

    # Progress

    def restoring(self) -> list[Restore]:
        """Return which stores are being restored now; other threads call this during a batch."""
        states = list(self._tasks.values())
        found = [each for state in states for each in list(state.databases.restores.values())]
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
