"""Runs batches: plans one, runs its stages on Spark, and runs it again until it is done."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import (
    COMMIT_INTERVAL_MS,
    LOG_SUMMARY_INTERVAL_MS,
    METADATA_MAX_AGE_MS,
    RETRY_BACKOFF_MS,
    SLOT_POOL,
    TASK_TIMEOUT_MS,
    TRANSACTION_TIMEOUT_MS,
    StreamsConfig,
)
from penstock.errors import PenstockError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.logs import is_fault, log_about
from penstock.runtime.spark.driver.batch_planner import BatchPlanner
from penstock.runtime.spark.driver.executors.executor_watch import ExecutorWatch
from penstock.runtime.spark.driver.failures import Remedy, explained, fenced, has_limit, remedy
from penstock.runtime.spark.driver.instances.membership import GroupMember
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.observing.held_back import HeldBack
from penstock.runtime.spark.driver.observing.meter import Meter
from penstock.runtime.spark.driver.observing.progress import Progress
from penstock.runtime.spark.driver.observing.restore_watch import RestoreWatch
from penstock.runtime.spark.driver.observing.tracing import BatchTracer
from penstock.runtime.spark.driver.retention import ChangelogRetention
from penstock.runtime.spark.driver.slot_release import release_slots
from penstock.runtime.spark.driver.threads.movement import Movement
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.slot_watch import SlotWatch
from penstock.runtime.spark.driver.threads.stages import Stages
from penstock.runtime.spark.driver.to_spark import SparkSinks
from penstock.runtime.spark.exchange.batch_log import BatchLog, BatchPlan, Cut
from penstock.runtime.spark.exchange.channel import Waiting, ask
from penstock.runtime.spark.exchange.faults import fault_point, set_faults
from penstock.runtime.spark.exchange.kept_connections import KeptConnections
from penstock.runtime.spark.exchange.measures import TaskMeasures
from penstock.runtime.spark.exchange.questions import AskMeasures, AskRestores, SlotId
from penstock.runtime.spark.exchange.stage_request import (
    Application,
    Limits,
    Outcome,
    Range,
    Release,
    Report,
    Restore,
    StageRequest,
)

log = logging.getLogger(__name__)

#: How often the driver checks Spark and the stream threads while there is no input.
_LOOK_S = 5.0
#: The longest time between two checks for new partitions of source topics.
_TOPICS_S = 30.0
#: How many bytes of input a slot holds in memory for one stage.
_SLOT_BYTES = 64 * 1024 * 1024
#: The longest time of a stage before it commits, also as a share of the transaction timeout.
_STAGE_S, _TRANSACTION_SHARE = 10.0, 0.25
_MOST_BACKOFF_S = 10.0


class BatchRunner:
    """Runs one batch after the other, as long as this driver leads."""

    def __init__(
        self,
        spark: SparkSession,
        application: Application,
        batch_log: BatchLog,
        admin: Admin,
        member: GroupMember,
        slots: int,
        planner: BatchPlanner,
        internal: InternalPositions,
        placement: Placement,
        fence: Callable[[], None],
        check_topics: Callable[[], None],
        standby_listener: StandbyUpdateListener | None = None,
    ) -> None:
        set_faults(application.config)
        config = StreamsConfig(application.config)
        self.progress = Progress()
        self.meter, self._tracer = Meter.of(config), BatchTracer.of(config)
        #: The number of slots that the user wants, and the number in use; the next batch adapts it.
        self.slots = self.used_slots = slots
        self.restores = RestoreWatch(self.restoring)
        self.application = application
        self.questions = KeptConnections(placement.threads.secret)
        self.placement = placement
        self._spark, self._log, self._member = spark, batch_log, member
        self._planner = planner
        self._internal = internal
        self._fence = fence
        self._check_topics = check_topics
        self._topics_checked = time.monotonic()
        self._clocks: dict[TaskId, Clocks] = batch_log.state.clocks()
        self._sinks = SparkSinks(spark, application, batch_log, admin)
        self._retention = ChangelogRetention(application.plan, config, admin)
        if batch_log.state.plan is None:
            self._retention.hold()
        self._summary_ms = config[LOG_SUMMARY_INTERVAL_MS]
        self._summarized = time.monotonic(), 0, 0
        self._interval_s = config[COMMIT_INTERVAL_MS] / 1000
        self._topics_s = min(config[METADATA_MAX_AGE_MS] / 1000, _TOPICS_S)
        self._backoff_s = max(config[RETRY_BACKOFF_MS] / 1000, 0.01)
        self._task_timeout_s = config[TASK_TIMEOUT_MS] / 1000
        most_s = config[TRANSACTION_TIMEOUT_MS] / 1000 * _TRANSACTION_SHARE
        self._limits = self._most = Limits(_SLOT_BYTES, min(_STAGE_S, most_s))
        self._closing, self._is_first, self._next_commit = threading.Event(), True, 0.0
        #: Set while no batch is under way.
        self._is_between = threading.Event()
        self._is_between.set()
        #: While a thread holds this between two batches, the next batch does not begin.
        self.held = threading.Lock()
        self._held_back = HeldBack(planner)
        before = batch_log.state.cut
        self._changelog_ends: dict[TopicPartition, int] = (
            {} if before is None else dict(before.ends)
        )
        #: Whether a batch of this run is complete, and whether tasks of it are still being
        #: restored.
        self.has_run, self.is_waiting = False, False
        self._executors = ExecutorWatch(spark.sparkContext, self._wait_for, self._task_timeout_s)
        self._stages = Stages(
            application, placement, self._look_for_threads, shares=bool(config[SLOT_POOL])
        )
        self._movement = Movement(application, self._stages.pickled, placement, standby_listener)
        self._slot_watch = SlotWatch(placement, application.key, self.progress)

    # The loop

    def run(self, is_restored: Callable[[], None] = lambda: None) -> None:
        """Run batches until ``stop``; raise an error that will not pass by itself.

        Args:
            is_restored: called when the stores of all tasks are as they were committed.
        """
        self._slot_watch.start()
        self.restores.ended = is_restored
        with self.restores.following():
            self._persist(self._warm_up, is_batch=False)
            while not self._closing.is_set():
                plan = self._persist(self._wait_for_batch, is_batch=False)
                if plan is not None:
                    with log_about(batch=plan.batch):
                        self._persist(partial(self._run, plan))

    def _persist(self, action: Callable[[], Any], *, is_batch: bool = True) -> Any:
        """Repeat an action until it succeeds; ``progress.waiting_for`` says what is missing."""
        since: float | None = None
        attempts = 0
        while not self._closing.is_set():
            try:
                if attempts and is_batch:
                    self._recover()
                result = action()
            except Exception as error:
                failure = explained(error)
                # The limit counts from the first failure, and not while Kafka cannot be reached.
                since = (since or time.monotonic()) if has_limit(failure) else None
                waited_s = 0.0 if since is None else time.monotonic() - since
                if self._closing.is_set() or not self._may_repeat(failure, waited_s):
                    if failure is error:
                        # A plain ``raise`` keeps the error's own cause.
                        raise
                    raise failure from error
                self._wait_after(failure, attempts)
                attempts += 1
                continue
            self.progress.waiting_for = None
            return result
        return None

    def _may_repeat(self, failure: PenstockError, waited_s: float) -> bool:
        if remedy(failure) is not Remedy.RERUN:
            return False
        return not has_limit(failure) or waited_s < self._task_timeout_s

    def _wait_after(self, failure: PenstockError, attempts: int) -> None:
        pause_s = min(self._backoff_s * 2**attempts, _MOST_BACKOFF_S)
        self.progress.waiting_for = failure.message
        level = logging.WARNING if attempts in (0, 3) or attempts % 10 == 0 else logging.DEBUG
        log.log(level, "waiting %.1f s, then trying again: %s", pause_s, failure.message)
        self.progress.reruns += 1
        self._limits = self._limits.after_failure(failure.code)
        self._closing.wait(pause_s)

    def _wait_for(self, what: str | None) -> None:
        self.progress.waiting_for = what

    def _recover(self) -> None:
        """Abort open transactions and check that this driver leads, before a batch runs again."""
        self._member.check()
        # First: if another driver leads, its own producers must not be fenced.
        self._fence()
        self._log.renew()
        before, state = self._log.state, self._log.read()
        if (state.generation, state.run_id) != (before.generation, before.run_id):
            raise fenced(state.generation)
        state.plan, state.complete = before.plan, before.complete

    # One batch

    def _warm_up(self) -> None:
        """Start the slots and restore their state before the first batch."""
        self._member.check()
        plan = self._planner.first()
        if plan is not None:
            began = time.monotonic()
            self._internal.refresh()
            request = self._request(plan, 0, is_rerun=True, is_open=True)
            self._run_job(self._stages.warm_up, request)
            log.info("%d slots are ready after %.1f s", self.used_slots, time.monotonic() - began)
        if plan is not None and not self.restoring():
            self.restores.ended()

    def _wait_for_batch(self) -> BatchPlan | None:
        """Wait for the next commit time and for input; with a backlog, return at once."""
        if not self._planner.is_behind or self.is_waiting:
            self._pause(self._next_commit - time.monotonic())
        if time.monotonic() - self._topics_checked > self._topics_s:
            self._topics_checked = time.monotonic()
            self._check_topics()
        looked = time.monotonic()
        if self._held_back.is_due(looked, _LOOK_S):
            self.progress.held_back = self._held_back.look(looked)
        while not self._closing.is_set():
            self._member.check()
            self._notice_lost()
            plan = self._planner.next()
            if plan is not None:
                return plan
            if time.monotonic() - looked > _LOOK_S:
                looked = time.monotonic()
                self._look_around()
                return None
            self._pause(self._interval_s)
        return None

    def _pause(self, seconds: float) -> None:
        """Wait, and look around meanwhile, however long the commit interval is."""
        ends = time.monotonic() + seconds
        while not self._closing.is_set() and (left := ends - time.monotonic()) > 0:
            self._closing.wait(min(left, _LOOK_S))
            if left > _LOOK_S:
                self._member.check()
                self._look_around()

    def _look_around(self) -> None:
        """Check that Spark and the stream threads are there, while there is no input."""
        if self._spark.sparkContext._jsc.sc().isStopped():
            raise StreamsError(
                "spark-lost",
                "the Spark session was stopped while the application ran in it",
                fix="close the application before the session",
            )
        self._notice_lost()
        if self.placement.has_leaving():
            # Slots move between two batches.
            self._planner.wants_batch = True

    def _notice_lost(self) -> None:
        """Let the next batch begin at once if a stream thread has ended: it restores the state."""
        for slot in self.placement.forget_lost():
            log.warning("the stream thread of slot %d is gone; another one takes its place", slot)
            # The next batch creates all tasks of the slot again, also those without input.
            self._is_first = self._planner.wants_batch = True

    def _look_for_threads(self) -> None:
        """Say what is missing, while a slot waits for a stream thread."""
        self._member.check()
        self._executors.look()

    def _run(self, plan: BatchPlan) -> None:
        started = time.monotonic()
        self._next_commit = started + self._interval_s
        if self.progress.began_ms is None:
            self.progress.began_ms = time.time_ns() // 1_000_000
        with self.held:
            self._is_between.clear()
        try:
            if self._closing.is_set():
                return
            is_rerun = self._log.state.plan == plan
            self._log.begin(plan)
            self._change_slots()
            fault_point("planned", plan)
            received = self._run_stages(plan, is_rerun=is_rerun)
            fault_point("ran", plan)
            self._sinks.call(plan.batch, received)
            self._finish(plan, received, time.monotonic() - started)
        except Exception as error:
            if self._tracer is not None:
                code = getattr(error, "code", type(error).__name__)
                self._tracer.failed(plan.batch, code, time.monotonic() - started)
            raise
        finally:
            self._is_between.set()

    def _run_stages(self, plan: BatchPlan, *, is_rerun: bool) -> list[Report]:
        received: list[Report] = []
        application = self.application
        if is_rerun or self._is_first:
            # Only Kafka knows what a failed attempt has written.
            self._internal.refresh()
        for stage in range(application.plan.stages):
            self._member.check()
            request = self._request(plan, stage, is_rerun=is_rerun)
            if self._has_nothing(request, is_rerun=is_rerun):
                continue
            reports = self._run_job(self._stages.run, request)
            self._internal.advance(reports)
            if any(report.is_repeated for report in reports):
                self._internal.refresh()
            received += reports
        return received

    def _has_nothing(self, request: StageRequest, *, is_rerun: bool) -> bool:
        """Tell whether a later stage can be left out: it has neither input nor schedules."""
        if is_rerun or self._is_first or request.stage == 0 or self._planner.has_wall_clock:
            return False
        if self.is_waiting:
            # The end of a restore is reported only with the result of a stage.
            return False
        return all(start >= end for start, end in request.ranges.values())

    def _run_job(
        self, ask: Callable[[StageRequest], list[Outcome]], request: StageRequest
    ) -> list[Report]:
        """Run a stage on all slots; raise the most serious of their errors."""
        with self._slot_watch.over_stage(request):
            outcomes = ask(request)
        self._executors.over()
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        if errors:
            raise max(map(explained, errors), key=_weight)
        self._movement.keep_standbys(self.used_slots)
        return [report for outcome in outcomes for report in outcome.reports]

    def _request(
        self, plan: BatchPlan, stage: int, *, is_rerun: bool, is_open: bool = False
    ) -> StageRequest:
        layout = self.application.plan
        external: dict[TopicPartition, Range] = {
            part: (plan.start[part], plan.start[part] if is_open else plan.end[part])
            for run in layout.runs_of(stage)
            for parts in layout.inputs_of(run)
            for part in parts
        }
        sources = set(layout.graph.source_changelogs.values())
        return StageRequest(
            batch=plan.batch,
            stage=stage,
            slots=self.used_slots,
            clock_ms=plan.clock_ms,
            ranges=external | self._internal.ranges(stage),
            skips=self._internal.skips,
            table_positions={part: at for part, at in plan.start.items() if part[0] in sources},
            is_rerun=is_rerun,
            has_leftover=self._internal.has_leftover,
            global_ends=plan.global_ends,
            global_start=plan.global_start,
            group=self._member.metadata(),
            owners=self.placement.owners(),
            limits=self._limits,
            plan=plan.to_json(),
        )

    def _change_slots(self) -> None:
        """Change the number of slots, or move one to another thread, between two batches."""
        # Another thread may change the number at any time.
        wanted = self.slots
        if wanted != self.used_slots:
            self._log.note_slots(wanted)
            # Tasks move to other slots, which need the tasks' folders unlocked.
            self.release(range(self.used_slots))
            self.used_slots = wanted
            self.placement.resize(wanted, self._closing, self._look_for_threads)
        found = self._movement.next_move(wanted)
        if found is not None:
            slot, target = found
            log.info("slot %d moves to a stream thread with less to do", slot)
            is_moved = self.placement.endpoints[slot].host != target.host
            self.release([slot], is_moved=is_moved)
            self.placement.begin_move(slot, target)

    def _finish(self, plan: BatchPlan, received: list[Report], seconds: float) -> None:
        anew = self._planner.made_anew
        reached = {p: at for p, at in anew.reached(received).items() if p in plan.end}
        if not self.application.exactly_once:
            self._member.commit({**reached, **self._internal.committed()})
        anew.committed(reached, self._log)
        # A later plan proves that this batch is complete. Only the last batch needs a record.
        self._log.state.complete = plan.batch
        self._is_first, self.has_run = False, True
        self._limits = self._limits.after_success(self._most)
        self.is_waiting = any(report.is_waiting for report in received)
        if self.is_waiting:
            self._planner.wants_batch = True
        else:
            self.restores.ended()
        self._planner.advance(reached)
        self._planner.has_leftover = self._internal.has_leftover
        self._note(plan, received, reached, seconds)
        self._note_cut(plan, received)
        self._internal.purge()

    def _note_cut(self, plan: BatchPlan, received: list[Report]) -> None:
        """Write the ends of all changelogs after this batch: copies of stores follow up to them."""
        for report in received:
            self._changelog_ends |= report.changelog_ends
        sources = set(self.application.plan.graph.source_changelogs.values())
        position = {p: at for p, at in self.progress.position.items() if p in plan.end}
        tables = {part: at for part, at in position.items() if part[0] in sources}
        self._log.note_cut(
            Cut(
                self.application.generation,
                plan.batch,
                self._changelog_ends | tables,
                plan.global_ends,
                position,
            )
        )

    def _note(
        self,
        plan: BatchPlan,
        received: list[Report],
        reached: Mapping[TopicPartition, int],
        seconds: float,
    ) -> None:
        progress = self.progress
        busy: defaultdict[tuple[int, int], float] = defaultdict(float)
        # If a task ran in several stages, its clocks are those of the last stage.
        for report in sorted(received, key=lambda each: each.stage):
            if report.clocks is not None:
                self._clocks[report.task] = report.clocks
            busy[report.stage, report.slot] += report.seconds
            progress.sent += report.sent
            progress.logged += report.logged
            progress.restored += sum(each.records for each in report.restores)
            self.restores.completed(report.restores)
            progress.dropped.update(report.dropped)
            progress.column_errors.update(report.column_errors)
        if any(report.has_requested_commit for report in received):
            # A processor asked for a commit, so the next batch does not wait for its time either.
            self._next_commit = 0.0
        self._retention.keep_up(self._clocks, time.time_ns() // 1_000_000)
        external = [r for r in received if any(part in plan.end for part in r.positions)]
        records = sum(report.records for report in external)
        stages = {stage for stage, _ in busy}
        working_s = sum(max(s for (st, _), s in busy.items() if st == stage) for stage in stages)
        self.meter.note(received, seconds, working_s)
        if self._tracer is not None:
            self._tracer.completed(plan.batch, received, seconds)
        self._planner.learn(records, seconds, max(seconds - working_s, 0.0))
        progress.batches += 1
        progress.records += records
        progress.last_batch_records = records
        progress.last_batch_seconds = seconds
        progress.position = {**plan.end, **reached, **plan.global_ends}
        self._summarize()

    def _summarize(self) -> None:
        """Log a summary of the time since the last one, in the configured interval."""
        now, progress = time.monotonic(), self.progress
        since = now - self._summarized[0]
        if 0 <= self._summary_ms <= since * 1000:
            log.info(
                "%s: %d records in %d batches in the last %.0f s",
                self.application.id, progress.records - self._summarized[1],
                progress.batches - self._summarized[2], since,
            )  # fmt: skip
            self._summarized = now, progress.records, progress.batches

    def restoring(self) -> list[Restore]:
        """Return which stores are being restored; a slot that does not answer is left out."""
        return self._answers(AskRestores)

    def measures(self) -> list[TaskMeasures]:
        """Return the measures of all tasks; a slot that does not answer is left out."""
        return self._answers(AskMeasures)

    def _answers(self, question: type[AskRestores] | type[AskMeasures]) -> list[Any]:
        found: list[Any] = []
        for number, endpoint in list(self.placement.endpoints.items()):
            with contextlib.suppress(StreamsError):
                asked = question(SlotId(self.application.key, number))
                found += ask(endpoint, self.placement.threads.secret, asked, Waiting(silence_s=2.0))
        return found

    @contextlib.contextmanager
    def hold(self, timeout_s: float) -> Iterator[int | None]:
        """Delay the next batch; yield the newest batch, or None if one runs until the timeout."""
        deadline = time.monotonic() + timeout_s
        while not self._closing.is_set():
            self._is_between.wait(max(deadline - time.monotonic(), 0.0))
            with self.held:
                if self._is_between.is_set():
                    yield self._log.state.complete
                    return
            if time.monotonic() > deadline:
                break
        yield None

    def standby_lags(self) -> dict[int, int | None]:
        """Return for each slot how far its nearest copy on another executor is behind."""
        return self._movement.standby_lags()

    def has_leftover(self) -> bool:
        return self._internal.has_leftover

    # The end

    def stop(self, patience_s: float) -> bool:
        """Wait for the current batch and begin no other; false if it had to be cancelled."""
        self._closing.set()
        if self._is_between.wait(patience_s):
            return True
        self._stages.cancel()
        return False

    def release(self, slots: Iterable[int], *, is_moved: bool = False) -> None:
        """Make slots write their state to disk and end."""
        known = self.placement.endpoints
        leaving = {number: known[number] for number in list(slots) if number in known}
        release_slots(
            leaving, self.placement.threads.secret, self.application.key, Release(is_moved)
        )
        self.placement.forget(leaving)

    def close(self, *, is_clean: bool, keeps_slots: bool) -> None:
        """Write that the last batch is complete, and release the slots of shared threads.

        Threads of this application alone close their slots when they end.

        Args:
            keeps_slots: leave the slots to the next run, which begins at once.
        """
        state = self._log.state
        if is_clean and state.plan is not None and state.complete == state.plan.batch:
            try:
                self._log.finish(state.complete)
            except Exception as error:
                text = "could not write that batch %d is complete: %s"
                level = logging.WARNING if is_fault(error) else logging.INFO
                log.log(level, text, state.complete, error, exc_info=is_fault(error))
        self.questions.close()
        self._movement.close()
        self._slot_watch.end()
        if not keeps_slots and self.placement.shares:
            self.release(list(self.placement.endpoints))
        self._stages.close()


def _weight(error: PenstockError) -> int:
    """Return how serious an error is: highest if the user must decide about it."""
    order = {Remedy.RERUN: 0, Remedy.BEGIN_ANEW: 1, Remedy.END: 2, Remedy.ASK: 3}
    return order[remedy(error)]
