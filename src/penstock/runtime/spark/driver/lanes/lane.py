"""A lane: the driver's part in the work of one slot.

It plans a batch of the slot's tasks, asks the slot to run it, stage by stage, and notes where the
tasks are then. Each lane has a thread. What goes wrong in one lane does not hold up the others.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from penstock.errors import PenstockError
from penstock.model.remedies import Remedy, declared, remedy
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.logs import log_about
from penstock.runtime.spark.driver.failures import explained
from penstock.runtime.spark.driver.lanes.gate import Turn
from penstock.runtime.spark.driver.lanes.lane_inputs import LaneInputs, Planned, within
from penstock.runtime.spark.driver.lanes.shared import Shared
from penstock.runtime.spark.exchange.faults import fault_point
from penstock.runtime.spark.exchange.stage_request import Report, StageRequest

log = logging.getLogger(__name__)

_MOST_BACKOFF_S = 10.0
#: The pauses before a task whose function has failed is tried again.
_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
#: The same for a task whose records do not come, such as those behind an open transaction.
_STUCK_PAUSES_S = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)
#: A shorter pause is not worth a word in the log; a longer one is told now and then.
_TOLD_S, _TOLD_AGAIN = 0.5, 20
#: Stands for the partition of a slot that has no tasks.
_NO_TASKS = -1
#: With schedules by the wall clock, a batch takes at most so long, so that they are on time.
_PUNCTUAL_S = 0.5


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A stage that may have been committed although no report of it has arrived."""

    batch: int
    stage: int


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why a lane waits, since when, and until when."""

    error: PenstockError
    attempts: int
    until: float
    #: Since when ``task.timeout.ms`` counts; None while the time is not limited.
    since: float | None


@dataclass(frozen=True, slots=True)
class _Hold:
    """Why the tasks of one partition are set aside while the others go on."""

    why: str
    attempts: int
    until: float
    #: Whether the pause is so long that users want to know about it.
    is_told: bool


class Lane:
    """Runs the tasks of one slot: those whose partition has the slot's remainder."""

    def __init__(self, number: int, slots: int, shared: Shared) -> None:
        plan = shared.application.plan
        self.number = number
        self._slots = slots
        self._shared = shared
        most = max((plan.tasks(run.subtopology) for run in plan.runs), default=0)
        own = frozenset(n for n in range(most) if n % slots == number)
        # A slot without tasks still keeps its copy of the global tables.
        self._partitions = own or frozenset((_NO_TASKS,))
        tasks = [
            parts
            for run in plan.runs
            for task, parts in enumerate(plan.inputs_of(run))
            if task in self._partitions and parts
        ]
        self._inputs = LaneInputs(tasks, shared.inputs, shared.offsets)
        self._limits = shared.pace.limits.at_first()
        #: By stage and partition: the tasks that the slot has not created yet.
        self._new: set[tuple[int, int]] = set()
        self._scheduling = {
            stage
            for stage in range(plan.stages)
            if any(plan.may_schedule(run.subtopology) for run in plan.runs_of(stage))
        }
        self._tables: dict[TopicPartition, int] = {}
        self._next_s = 0.0
        #: When the lane begins within the commit interval, from 0 to 1; and when it does so while
        #: it has input. Lanes whose slots send nothing to each other commit one after the other.
        self._phase, self._own_phase = 0.0, number / slots if plan.stages == 1 else 0.0
        self._batches = 0
        self._is_behind = False
        self._attempt: _Attempt | None = None
        self._trouble: _Trouble | None = None
        self._held: dict[int, _Hold] = {}
        #: Partitions that are tried alone, to find the one that fails.
        self._suspects: set[int] = set()
        #: The partitions of the newest batch.
        self._took_part = self._partitions
        #: The newest cut when this lane last ran.
        self._ran_after_cut = -1
        #: Whether tasks are still being restored, and whether all have been restored once.
        self.is_waiting, self.has_run, self._is_over = False, False, False
        self._is_warm, self._is_warming = False, True
        self.renew()

    # What others see

    @property
    def trouble(self) -> str | None:
        """What the lane waits for, in words."""
        if self._trouble is not None:
            return self._trouble.error.message
        return next((hold.why for hold in list(self._held.values()) if hold.is_told), None)

    @property
    def is_in_trouble(self) -> bool:
        return self._trouble is not None

    @property
    def has_begun(self) -> bool:
        """Whether the slot has begun to restore its stores, or needed not."""
        return self._is_warm or self.has_run

    @property
    def is_warming(self) -> bool:
        """Whether the slot may be taking a thread and opening stores, outside of any batch."""
        return self._is_warming

    @property
    def is_unknown(self) -> bool:
        """Whether a stage may have been committed whose report has not arrived."""
        return self._attempt is not None

    def end(self) -> None:
        """Run no more batches: the slot has other tasks from now on."""
        self._is_over = True
        self._shared.gate.notify()

    def has_leftover(self) -> bool:
        """Tell whether records of repartition topics wait for tasks that can run."""
        if self._trouble is not None:
            return False
        return self._shared.internal.has_leftover(self._partitions - self._held.keys())

    def can_drain(self) -> bool:
        """Tell the same for tasks that rest for a moment only, such as behind a transaction."""
        if self._trouble is not None:
            return False
        held = {partition for partition, hold in list(self._held.items()) if hold.is_told}
        return self._shared.internal.has_leftover(self._partitions - held)

    def is_awaited(self, stage: int) -> bool:
        """Tell whether the lane is going to process something of an earlier stage."""
        if self._trouble is not None or self._shared.is_paused.is_set():
            return False
        chosen = self._partitions - self._held.keys()
        internal = self._shared.internal
        return any(internal.has_leftover(chosen, before) for before in range(stage))

    def begin_tables(self, tables: dict[TopicPartition, int]) -> None:
        """Note up to where dead letters of global records were written by earlier runs."""
        self._tables = tables

    def renew(self) -> None:
        """Create all tasks again with the next batch: the slot's thread is gone."""
        stages = range(self._shared.application.plan.stages)
        self._new = {(stage, partition) for stage in stages for partition in self._partitions}
        self._shared.gate.notify()

    def replaced(self) -> None:
        """Go on after an error of the program; what fails is found, and set aside for a while."""
        trouble = self._trouble
        if trouble is None:
            return
        if len(self._took_part) == 1:
            (partition,) = self._took_part
            self._set_aside(partition, trouble.error.message)
            self._suspects.discard(partition)
        else:
            self._suspects = set(self._took_part)
        self._trouble = None
        self._shared.gate.notify()

    # The loop

    def run(self) -> None:
        """Run batches until the gate has ended."""
        shared = self._shared
        try:
            try:
                self._warm_up()
            finally:
                self._is_warming = False
                shared.stops.settle(self.number)
            while (turn := shared.gate.wait_turn(self.number, self._due_s)) is not None:
                before = self._batches
                try:
                    self._take(turn)
                finally:
                    shared.gate.end_turn(self.number)
                    shared.committed(self._batches > before)
        except BaseException as error:  # noqa: BLE001 - the driver's main thread raises it
            # This thread has ended, so the lane cannot begin again by itself.
            shared.report(None, explained(error))

    def _warm_up(self) -> None:
        """Let the slot restore its state before there is input; a failure shows with a batch."""
        shared = self._shared
        if shared.application.plan.has_wall_clock:
            return
        with self._tried():
            shared.member.check()
            ends = shared.ends.fresh()
            parts = self._inputs.parts(self._partitions)
            ranges = {part: (shared.positions[part],) * 2 for part in parts}
            tables = {part: ends.get(part, 0) for part in shared.tables}
            planned = Planned(clock_ms=self._inputs.clock_ms(), ranges=ranges, tables=tables)
            request = self._request(_Attempt(shared.numbers.next(), 0), planned, self._partitions)
            shared.asking.warm_up(self.number, replace(request, is_rerun=True))
            self._is_warm = True

    def _due_s(self, turn: Turn) -> float | None:
        """Return in how many seconds there is something to do; None if never again."""
        now = time.monotonic()
        if self._is_over:
            return None
        if self._trouble is not None:
            return self._trouble.until - now if turn is Turn.ANY else math.inf
        if turn is Turn.DRAIN:
            if self.has_leftover():
                return 0.0
            short = [hold.until for hold in self._held.values() if not hold.is_told]
            return min(short) - now if short and self.can_drain() else math.inf
        if self._shared.is_paused.is_set():
            return math.inf
        if self._is_behind or self._attempt is not None or self.has_leftover():
            return 0.0
        if self._suspects or self._has_new(self._partitions - self._held.keys()):
            return 0.0
        until = min((hold.until for hold in self._held.values()), default=math.inf)
        return min(self._next_s, until) - now

    def _has_new(self, partitions: Collection[int]) -> bool:
        return any(partition in partitions for _, partition in self._new)

    def _take(self, turn: Turn) -> None:
        with self._tried(), log_about(slot=self.number):
            attempt = self._attempt
            if attempt is not None:
                self._recover()
            try:
                self._batch(turn, attempt)
            finally:
                self._shared.stops.settle(self.number)

    def _tried(self) -> _Tried:
        return _Tried(self)

    # One batch

    def _batch(self, turn: Turn, attempt: _Attempt | None) -> None:
        shared, began = self._shared, time.monotonic()
        chosen = self._chosen(began)
        if turn is Turn.ANY and not self._suspects:
            # Other batches are of a part, and put off nothing.
            self._next_s = _next_beat(began, shared.pace.interval_s, self._phase)
            self._is_behind = False
        planned = self._planned(turn, chosen)
        if attempt is None and not self._has_work(planned, chosen):
            # Lanes without input ask Kafka together.
            self._phase = 0.0
            self._over(chosen, ())
            return
        self._took_part, new = chosen, self._new
        first = attempt or _Attempt(shared.numbers.next(), 0)
        with log_about(batch=first.batch):
            fault_point("planned", first)
            reports = self._run_stages(first, planned, chosen, is_rerun=attempt is not None)
            fault_point("ran", first)
        if turn is Turn.ANY and self._new is new:
            # The slot's thread was there all the time; stages before the first were left out.
            self._new = {each for each in new if each[1] not in chosen or each[0] < first.stage}
        if attempt is None:
            # A batch that runs again may not have read global topics up to here.
            self._tables = dict(planned.tables)
        self._phase = self._own_phase
        self._finish(first.batch, planned, reports, time.monotonic() - began)
        self._over(chosen, reports)

    def _chosen(self, now: float) -> frozenset[int]:
        """Return the partitions whose tasks take part: suspects one by one, without those held."""
        due = {partition for partition, hold in self._held.items() if hold.until <= now}
        self._suspects |= due
        if self._suspects:
            return frozenset((min(self._suspects),))
        return self._partitions - self._held.keys()

    def _planned(self, turn: Turn, chosen: frozenset[int]) -> Planned:
        shared = self._shared
        if turn is Turn.DRAIN:
            return Planned(clock_ms=self._inputs.clock_ms(), tables=self._tables)
        ends = shared.ends.fresh()
        with shared.gate.changed:
            start = {
                part: shared.positions[part] for part in self._inputs.parts(chosen) if part in ends
            }
        tables = {part: ends.get(part, self._tables.get(part, 0)) for part in shared.tables}
        planned = self._inputs.plan(start, shared.stops.within(ends), tables)
        return replace(planned, ranges=shared.stops.admit(self.number, planned.ranges))

    def _has_work(self, planned: Planned, chosen: frozenset[int]) -> bool:
        has_input = planned.has_input or self._shared.internal.has_leftover(chosen)
        is_new = self._has_new(chosen) or self.is_waiting or planned.tables != self._tables
        return has_input or is_new or bool(self._scheduling)

    def _run_stages(
        self, first: _Attempt, planned: Planned, chosen: frozenset[int], *, is_rerun: bool
    ) -> list[Report]:
        shared, received = self._shared, list[Report]()
        shared.accounts.began()
        cut = shared.newest_cut()
        took_s = 0.0
        for stage in range(first.stage, shared.application.plan.stages):
            shared.gate.enter(self.number, stage, took_s)
            attempt = _Attempt(first.batch, stage)
            is_again = is_rerun and stage == first.stage
            request = self._request(attempt, planned, chosen, is_rerun=is_again)
            if self._has_nothing(request):
                continue
            began = time.monotonic()
            received += self._run_stage(attempt, request)
            self._ran_after_cut = cut
            took_s = time.monotonic() - began
        return received

    def _has_nothing(self, request: StageRequest) -> bool:
        """Tell whether a stage can be left out: it has neither input nor schedules."""
        is_needed = request.is_rerun or request.is_first or self.is_waiting
        if is_needed or request.stage in self._scheduling:
            return False
        if request.stage == 0 and request.global_ends != self._tables:
            return False
        return all(start >= end for start, end in request.ranges.values())

    def _run_stage(self, attempt: _Attempt, request: StageRequest) -> list[Report]:
        shared = self._shared
        # Until its report has arrived, only the batch log knows whether it is committed.
        self._attempt = attempt
        shared.member.check()
        with shared.watch.over_stage(self.number, request):
            reports = shared.asking.run(self.number, request)
        if not shared.application.exactly_once:
            shared.member.commit(self._offsets(reports))
        written = shared.internal.written() if any(each.is_repeated for each in reports) else {}
        with shared.gate.changed:
            shared.accounts.note_stage(reports)
            shared.internal.refresh(written)
            shared.gate.changed.notify_all()
        self._attempt = None
        shared.accounts.note_restores(reports)
        return reports

    def _offsets(self, reports: Sequence[Report]) -> dict[TopicPartition, int]:
        internal = self._shared.internal
        return {
            internal.in_kafka(part): at
            for report in reports
            for part, at in report.positions.items()
        }

    def _request(
        self,
        attempt: _Attempt,
        planned: Planned,
        chosen: Collection[int],
        *,
        is_rerun: bool = False,
    ) -> StageRequest:
        shared = self._shared
        layout = shared.application.plan
        reads = {topic for run in layout.runs_of(attempt.stage) for topic in run.topics}
        sources = set(layout.graph.source_changelogs.values())
        external = {part: span for part, span in planned.ranges.items() if part[0] in reads}
        with shared.gate.changed:
            internal = shared.internal.ranges(attempt.stage, chosen)
            positions = {p: at for p, at in shared.positions.items() if p[0] in sources}
            skips = shared.internal.skips_of(internal)
        most_s = _PUNCTUAL_S if self._scheduling else math.inf
        seconds = min(self._limits.seconds, most_s, shared.seconds_left())
        return StageRequest(
            batch=attempt.batch,
            stage=attempt.stage,
            slots=self._slots,
            clock_ms=planned.clock_ms,
            ranges=external | internal,
            skips=skips,
            table_positions=positions,
            is_rerun=is_rerun,
            is_first=any((attempt.stage, number) in self._new for number in chosen),
            # At a cut nothing was on its way, and since then this lane has sent nothing.
            has_leftover=layout.stages > 1 and shared.newest_cut() <= self._ran_after_cut,
            global_ends=planned.tables,
            global_start=within(self._tables, planned.tables),
            group=shared.member.metadata(),
            may_read_on=layout.has_single_inputs and shared.stops.may_read_on(self.number),
            owners=shared.owners.owners(),
            limits=self._limits._replace(seconds=seconds),
        )

    def _finish(
        self, batch: int, planned: Planned, reports: Sequence[Report], seconds: float
    ) -> None:
        shared = self._shared
        reached = {part: at for report in reports for part, at in report.positions.items()}
        self.is_waiting = any(report.is_waiting for report in reports)
        cut_off = {p for p, (start, end) in planned.ranges.items() if reached.get(p, start) < end}
        # Those that cannot go on now are asked in every interval, or when their pause is over.
        resting = {
            part for each in reports if each.is_waiting or each.stuck for part in each.positions
        }
        self._is_behind |= not (planned.behind | cut_off) <= resting
        with shared.gate.changed:
            overhead_s = shared.accounts.note_batch(batch, reports, seconds)
            shared.accounts.note_tables(self.number, self._tables)
            records = shared.accounts.records_of(reports)
        ranges = [
            (start, reached[part]) for part, (start, _) in planned.ranges.items() if part in reached
        ]
        self._inputs.size.note_density(records, ranges)
        self._inputs.size.learn(records, seconds, overhead_s)
        self._limits = self._limits.after_success(shared.pace.limits, seconds)
        self.has_run = True
        self._batches += 1
        if any(report.has_requested_commit for report in reports):
            # A processor asked for a commit, so the next batch does not wait for its time either.
            self._next_s = 0.0

    def _over(self, chosen: frozenset[int], reports: Sequence[Report]) -> None:
        """Note which tasks have run without trouble, and which are stuck."""
        stuck = {part for report in reports for part in report.stuck}
        for partition in {number for _, number in stuck}:
            named = ", ".join(f"{t!r} partition {n}" for t, n in sorted(stuck) if n == partition)
            why = (
                f"no records come from {named}, although it has some: a broker is away, or a"
                " transaction is open"
            )
            self._set_aside(partition, why, _STUCK_PAUSES_S)
        well = chosen - {number for _, number in stuck}
        was_held = not self._held.keys().isdisjoint(well)
        for partition in well:
            self._held.pop(partition, None)
        self._suspects -= chosen
        if was_held or stuck:
            self._shared.troubled()

    # Failures

    def _set_aside(self, partition: int, why: str, pauses_s: Sequence[float] = _PAUSES_S) -> None:
        before = self._held.get(partition)
        attempts = 0 if before is None else before.attempts + 1
        pause_s = pauses_s[min(attempts, len(pauses_s) - 1)]
        is_told = pause_s >= _TOLD_S
        if is_told and (before is None or not before.is_told or attempts % _TOLD_AGAIN == 0):
            log.warning("the tasks of partition %d are set aside for a while: %s", partition, why)
        self._held[partition] = _Hold(why, attempts, time.monotonic() + pause_s, is_told)
        self._shared.troubled()

    def _recover(self) -> None:
        """End the open transaction of the slot, before a batch runs again."""
        self._shared.member.check()
        self._shared.fence(self.number)

    def succeeded(self) -> None:
        """Forget the last trouble."""
        if self._trouble is not None:
            self._trouble = None
            self._shared.troubled()

    def failed(self, error: BaseException) -> None:
        """Decide about a failure: wait and try again, or let the driver decide."""
        shared, failure = self._shared, explained(error)
        if shared.closing.is_set():
            self._trouble = _Trouble(failure, 0, math.inf, None)
            return
        if shared.accounts.tracer is not None and self._attempt is not None:
            shared.accounts.tracer.failed(self._attempt.batch, failure.code, 0.0)
        now, before = time.monotonic(), self._trouble
        attempts = 0 if before is None else before.attempts + 1
        # The limit counts from the first failure, and not while Kafka cannot be reached.
        since = ((before and before.since) or now) if declared(failure).has_limit else None
        is_over = since is not None and now - since >= shared.pace.task_timeout_s
        if remedy(failure) is not Remedy.RERUN or is_over:
            self._trouble = _Trouble(failure, attempts, math.inf, since)
            shared.report(self.number, failure)
            return
        pause_s = min(shared.pace.backoff_s * 2**attempts, _MOST_BACKOFF_S)
        level = logging.WARNING if attempts in (0, 3) or attempts % 10 == 0 else logging.DEBUG
        log.log(level, "waiting %.1f s, then trying again: %s", pause_s, failure.message)
        self._trouble = _Trouble(failure, attempts, now + pause_s, since)
        self._limits = self._limits.after_failure(failure)
        with shared.gate.changed:
            shared.accounts.progress.reruns += 1
            shared.accounts.progress.failures.note(failure)
        self.renew()
        shared.troubled()


class _Tried:
    """Gives the errors of a ``with`` block to the lane."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None:
            self._lane.succeeded()
            return False
        if not isinstance(error, Exception):
            return False
        self._lane.failed(error)
        return True


def _next_beat(now: float, interval_s: float, phase: float) -> float:
    """Return the next beat that lanes of this phase have in common.

    Lanes that begin together see each other's records together.
    """
    beat_s = max(interval_s, 0.001)
    return (math.floor(now / beat_s - phase) + 1 + phase) * beat_s
