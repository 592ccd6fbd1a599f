"""Leads the lanes of an application: looks after what they share, and decides about failures."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import (
    COMMIT_INTERVAL_MS,
    LOG_SUMMARY_INTERVAL_MS,
    MAX_BATCH_RECORDS,
    MAX_TASK_IDLE_MS,
    METADATA_MAX_AGE_MS,
    RETRY_BACKOFF_MS,
    SLOT_POOL,
    TASK_TIMEOUT_MS,
    TRANSACTION_TIMEOUT_MS,
    StreamsConfig,
)
from penstock.errors import PenstockError, StreamsError
from penstock.kafka.admin import Admin
from penstock.model.remedies import Remedy, remedy
from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.executors.executor_watch import ExecutorWatch
from penstock.runtime.spark.driver.failures import explained
from penstock.runtime.spark.driver.instances.membership import GroupMember
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.lake.lake_sinks import LakeSinks
from penstock.runtime.spark.driver.lanes.accounts import Accounts
from penstock.runtime.spark.driver.lanes.cuts import Cuts
from penstock.runtime.spark.driver.lanes.ends import EndsWatch
from penstock.runtime.spark.driver.lanes.gate import Gate
from penstock.runtime.spark.driver.lanes.lane import Lane
from penstock.runtime.spark.driver.lanes.lane_inputs import InputSettings
from penstock.runtime.spark.driver.lanes.row_calls import RowCalls
from penstock.runtime.spark.driver.lanes.shared import Numbers, Pace, Shared
from penstock.runtime.spark.driver.lanes.stops import Stops
from penstock.runtime.spark.driver.observing.held_back import HeldBack
from penstock.runtime.spark.driver.observing.meter import Meter
from penstock.runtime.spark.driver.observing.progress import Progress
from penstock.runtime.spark.driver.observing.restore_watch import RestoreWatch
from penstock.runtime.spark.driver.observing.spark_pages import ShownState
from penstock.runtime.spark.driver.observing.tracing import BatchTracer
from penstock.runtime.spark.driver.retention import ChangelogRetention
from penstock.runtime.spark.driver.slot_release import release_slots
from penstock.runtime.spark.driver.threads.movement import Movement
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.shared_offsets import Offsets
from penstock.runtime.spark.driver.threads.slot_watch import SlotWatch
from penstock.runtime.spark.driver.threads.stages import Stages
from penstock.runtime.spark.driver.to_spark import SparkSinks
from penstock.runtime.spark.exchange.batch_log import BatchLog
from penstock.runtime.spark.exchange.channel import Waiting, ask
from penstock.runtime.spark.exchange.faults import set_faults
from penstock.runtime.spark.exchange.kept_connections import KeptConnections
from penstock.runtime.spark.exchange.measures import TaskMeasures
from penstock.runtime.spark.exchange.questions import AskMeasures, AskRestores, Look, SlotId
from penstock.runtime.spark.exchange.stage_request import (
    Application,
    Endpoint,
    Limits,
    Release,
    Restore,
)

log = logging.getLogger(__name__)

#: How often the driver checks Spark, the stream threads and held-back inputs.
_LOOK_S = 5.0
#: How often it looks after what changes at any time.
_TURN_S = 0.1
#: How long an error of a lane that has just begun waits until the others have begun.
_BEGIN_S = 5.0
#: The longest time between two checks for new partitions of source topics.
_TOPICS_S = 30.0
#: How many bytes of input a slot holds in memory for one stage.
_SLOT_BYTES = 64 * 1024 * 1024
#: The longest time of a stage before it commits, also as a share of the transaction timeout.
_STAGE_S, _TRANSACTION_SHARE = 10.0, 0.25
#: How long lanes may need to come to an end before slots change; after that it is tried later.
_PARK_S, _PARK_AGAIN_S = 5.0, 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What a driver knows and may do when it begins to lead an application."""

    application: Application
    log: BatchLog
    admin: Admin
    offsets: Offsets
    member: GroupMember
    placement: Placement
    #: Where each source partition is read on.
    positions: dict[TopicPartition, int]
    internal: InternalPositions
    anew: MadeAnew
    read_committed: bool
    #: Aborts the open transaction of a slot.
    fence: Callable[[int], None]
    #: Raises if the plan no longer fits the topics.
    check_topics: Callable[[], None]
    standby_listener: StandbyUpdateListener | None = None


class BatchRunner:
    """Runs the lanes of an application as long as this driver leads."""

    def __init__(self, spark: SparkSession, lead: Lead, slots: int) -> None:
        application = self.application = lead.application
        set_faults(application.config)
        config = StreamsConfig(application.config)
        state, plan = lead.log.state, application.plan
        #: The number of slots that the user wants, and the number in use.
        self.slots = self.used_slots = slots
        self.questions = KeptConnections(lead.placement.threads.secret)
        self.placement = lead.placement
        self.is_paused = threading.Event()
        #: Decides about an error of the program: true goes on, false ends the application.
        self.decide: Callable[[PenstockError], bool] = lambda error: False
        self._spark, self._lead = spark, lead
        self._accounts = Accounts(application, state, lead.positions, lead.internal, lead.anew)
        self._accounts.meter, self._accounts.tracer = Meter.of(config), BatchTracer.of(config)
        self.restores = self._accounts.restores = RestoreWatch(self.restoring)
        self._gate = Gate()
        self._gate.has_leftover = self._can_drain
        self._gate.is_awaited = self._is_awaited
        self._cuts = Cuts(lead.log, self._accounts, self._gate, is_chained=plan.stages > 1)
        self._cuts.is_under_way = self._is_under_way
        self._rows = self._row_calls(config)
        self._cuts.taken = self._rows.taken
        self._retention = ChangelogRetention(plan, config, lead.admin)
        if not state.markers:
            self._retention.hold()
        self._summary_ms = config[LOG_SUMMARY_INTERVAL_MS]
        self._summarized = time.monotonic(), 0, 0
        self._topics_s = min(config[METADATA_MAX_AGE_MS] / 1000, _TOPICS_S)
        # Slots are changed from a time on: a lane that hangs must not hold up the others.
        self._topics_checked = self._looked = self._change_from = time.monotonic()
        self._task_timeout_s = config[TASK_TIMEOUT_MS] / 1000
        self._closing = threading.Event()
        self._looking = threading.Lock()
        self._executors = ExecutorWatch(spark.sparkContext, self._wait_for, self._task_timeout_s)
        self._shows_executors: str | None = None
        self._stages = Stages(
            application, lead.placement, self._look_for_threads, shares=bool(config[SLOT_POOL])
        )
        self._movement = Movement(
            application, self._stages.pickled, lead.placement, lead.standby_listener
        )
        self._slot_watch = SlotWatch(lead.placement, application.key, self.progress)
        self._held_back = HeldBack(self)
        #: Errors of lanes that the main thread decides about, with the number of the lane.
        self._errors: SimpleQueue[tuple[int | None, PenstockError]] = SimpleQueue()
        self._lanes: list[Lane] = []
        # And how many batches there were when topics were last looked after.
        self._is_restored, self._followed = False, -1
        self._shared = self._shared_by_lanes(config)

    def _row_calls(self, config: StreamsConfig) -> RowCalls:
        given = self._spark, self.application, self._lead.log, self._lead.admin
        sinks = SparkSinks(*given), LakeSinks(*given)
        return RowCalls(*sinks, self._accounts, partial(self._reported, None), config)

    def _shared_by_lanes(self, config: StreamsConfig) -> Shared:
        lead, plan = self._lead, self.application.plan
        tables = frozenset(
            (store.topic, number)
            for store in plan.graph.global_stores.values()
            for number in range(plan.partitions[store.topic])
        )
        most_s = config[TRANSACTION_TIMEOUT_MS] / 1000 * _TRANSACTION_SHARE
        return Shared(
            application=self.application,
            pace=Pace(
                interval_s=config[COMMIT_INTERVAL_MS] / 1000,
                backoff_s=max(config[RETRY_BACKOFF_MS] / 1000, 0.01),
                task_timeout_s=self._task_timeout_s,
                limits=Limits(_SLOT_BYTES, min(_STAGE_S, most_s)),
            ),
            gate=self._gate,
            stops=Stops(lead.positions, self._gate.changed),
            ends=EndsWatch(lead.offsets, {*lead.positions, *tables}, committed=lead.read_committed),
            offsets=lead.offsets,
            inputs=InputSettings(
                max_records=config[MAX_BATCH_RECORDS],
                read_committed=lead.read_committed,
                max_idle_ms=config[MAX_TASK_IDLE_MS],
            ),
            positions=lead.positions,
            internal=lead.internal,
            tables=tables,
            accounts=self._accounts,
            asking=self._stages,
            owners=lead.placement,
            member=lead.member,
            watch=self._slot_watch,
            numbers=Numbers(lead.log.state.newest_batch),
            fence=lead.fence,
            report=self._reported,
            committed=self._cuts.committed,
            troubled=self._show_trouble,
            seconds_left=self._cuts.seconds_left,
            newest_cut=self._cuts.number,
            is_paused=self.is_paused,
            closing=self._closing,
        )

    # What others see

    @property
    def progress(self) -> Progress:
        return self._accounts.progress

    def show(self, state: Callable[[], str]) -> None:
        """Let Spark's pages say in which state the application is, and how far behind."""
        ends, positions = self._shared.ends, self._lead.positions
        self.placement.threads.show(
            self.application.id, lambda: ShownState(state(), ends.behind(positions))
        )

    @property
    def meter(self) -> Meter:
        assert self._accounts.meter is not None
        return self._accounts.meter

    def continue_from(self, progress: Progress | None, meter: Meter | None) -> None:
        """Continue the totals of an earlier run of the same program."""
        self.progress.continue_from(progress)
        self._accounts.meter = meter or self._accounts.meter

    @property
    def has_run(self) -> bool:
        """Whether every lane has run a batch."""
        lanes = self._lanes
        return bool(lanes) and all(lane.has_run for lane in lanes)

    @property
    def is_in_trouble(self) -> bool:
        """Whether a lane cannot end its batch, because Kafka or its thread does not answer."""
        return any(lane.is_in_trouble for lane in self._lanes)

    @property
    def is_waiting(self) -> bool:
        """Whether tasks are still being restored."""
        return any(lane.is_waiting for lane in self._lanes)

    def has_leftover(self) -> bool:
        """Tell whether something is still to be processed besides new input."""
        with self._gate.changed:
            # Copies of stores, functions of ``to_spark`` and positions of answers follow cuts.
            is_done = not (self._lead.internal.has_leftover() or self._cuts.has_news)
        if not is_done:
            return True
        return not self._rows.are_handed_on()

    @property
    def away(self) -> frozenset[TopicPartition]:
        """The inputs whose leaders do not answer, while others do."""
        return self._shared.ends.away

    def _can_drain(self) -> bool:
        return any(lane.can_drain() for lane in self._lanes)

    def _is_awaited(self, lane: int, stage: int) -> bool:
        return any(each.is_awaited(stage) for each in self._lanes if each.number != lane)

    def _is_under_way(self) -> bool:
        is_unknown = any(lane.is_unknown for lane in self._lanes)
        return is_unknown or self._lead.internal.has_leftover()

    def held_back(self) -> dict[TopicPartition, int]:
        """Return where inputs end for a reader of committed records, and more records follow.

        Open transactions hold those records back.
        """
        if not self._lead.read_committed:
            return {}
        with self._gate.changed:
            at = {part: at for part, at in self._lead.positions.items() if part not in self.away}
        visible = self._lead.offsets.end_offsets(list(at), committed=True)
        written = self._lead.offsets.end_offsets(list(at), committed=False)
        return {part: end for part, end in visible.items() if end <= at[part] < written[part]}

    # The lead

    def run(self, is_restored: Callable[[], None] = lambda: None) -> None:
        """Let the lanes run until ``stop``; raise an error that will not pass by itself.

        Args:
            is_restored: called when the stores of all tasks are as they were committed.
        """
        self._slot_watch.start()
        self.restores.ended = is_restored
        with self.restores.following():
            try:
                self._begin_lanes()
                while not self._closing.is_set():
                    self._turn()
            finally:
                self._gate.end()

    def _begin_lanes(self) -> None:
        slots = self.used_slots
        self._lanes = [Lane(number, slots, self._shared) for number in range(slots)]
        # The first slot writes the dead letters of global records.
        tables = dict(self._accounts.tables.get(0, self._lead.log.state.global_ends))
        for lane in self._lanes:
            lane.begin_tables(tables)
        for lane in self._lanes:
            name = f"penstock-lane-{lane.number}"
            threading.Thread(target=lane.run, name=name, daemon=True).start()

    def _turn(self) -> None:
        """Look after everything once, and decide about errors of lanes."""
        self._heed(_TURN_S)
        if self._closing.is_set():
            return
        self._lead.member.check()
        for work in (self._follow_threads, self._look_around, self._follow_topics, self._tidy):
            self._tried(work)
        self._show_trouble()

    def _heed(self, seconds: float) -> None:
        """Wait for an error of a lane; go on, or raise it."""
        with contextlib.suppress(Empty):
            number, error = self._errors.get(timeout=seconds)
            if self._closing.is_set():
                return
            # In the order in which it happened: first the state was there, then a record failed.
            self._await_restored()
            is_ours = remedy(error) in (Remedy.ASK, Remedy.RERUN)
            if number is None or not is_ours or not self.decide(error):
                raise error
            if number < len(self._lanes):
                # The number of slots may have changed since.
                self._lanes[number].replaced()
            self._is_restored = False

    def _reported(self, lane: int | None, error: PenstockError) -> None:
        self._errors.put((lane, error))

    def _tried(self, work: Callable[[], None]) -> None:
        """Do something that can be done again later if Kafka or Spark does not answer."""
        try:
            work()
        except Exception as error:
            failure = explained(error)
            if remedy(failure) is not Remedy.RERUN:
                if failure is error:
                    # A plain ``raise`` keeps the error's own cause.
                    raise
                raise failure from error
            log.debug("looked after in vain: %s", failure.message)

    def _follow_threads(self) -> None:
        """Give slots whose threads are gone another one; change and move slots."""
        for slot in self.placement.forget_lost():
            log.warning("the stream thread of slot %d is gone; another one takes its place", slot)
            if slot < len(self._lanes):
                # Its state is restored before the next record comes.
                self._lanes[slot].renew()
        self._movement.keep_standbys(self.used_slots)
        if self.slots != self.used_slots:
            self._change_slots()
        found = self._movement.next_move(self.used_slots)
        if found is not None:
            self._move(*found)

    def _change_slots(self) -> None:
        if time.monotonic() < self._change_from or any(lane.is_warming for lane in self._lanes):
            # A slot that gets ready after its release would keep the folders of its tasks locked.
            return
        # Another thread may change the number at any time.
        wanted = self.slots
        with self._gate.closed(_PARK_S, drains=False) as is_quiet:
            if not is_quiet or any(lane.is_unknown for lane in self._lanes):
                # Only the lane that has asked for a stage can find out whether it is committed.
                self._change_from = time.monotonic() + _PARK_AGAIN_S
                return
            self._lead.log.note_slots(wanted)
            # Tasks move to other slots, which need the tasks' folders unlocked.
            self.release(range(self.used_slots))
            former, self._lanes = self._lanes, []
            for lane in former:
                lane.end()
            self.used_slots = wanted
            self.placement.resize(wanted, self._closing, self._look_for_threads)
            self._begin_lanes()

    def _move(self, slot: int, target: Endpoint) -> None:
        with self._gate.parked(slot, _PARK_S) as is_idle:
            if not is_idle or self._lanes[slot].is_warming:
                return
            log.info("slot %d moves to a stream thread with less to do", slot)
            is_moved = self.placement.endpoints[slot].host != target.host
            self.release([slot], is_moved=is_moved)
            self.placement.begin_move(slot, target)
            self._lanes[slot].renew()

    def _look_around(self) -> None:
        """Check that Spark is there, and look for inputs that wait for another program."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        self._check_session()
        self.progress.held_back = self._held_back.look(now)

    def _check_session(self) -> None:
        if self._spark.sparkContext._jsc.sc().isStopped():
            raise StreamsError(
                "spark-lost",
                "the Spark session was stopped while the application ran in it",
                fix="close the application before the session",
            )

    def _follow_topics(self) -> None:
        if time.monotonic() - self._topics_checked > self._topics_s:
            self._topics_checked = time.monotonic()
            self._lead.check_topics()

    def _tidy(self) -> None:
        """Take cuts, delete what is processed, and keep changelogs long enough."""
        self._note_restored()
        self._cuts.look()
        self._follow_batches()
        with self._gate.changed:
            self._lead.internal.purge()
        self._summarize()

    def _follow_batches(self) -> None:
        """Note what the batches since the last look mean for topics."""
        with self._gate.changed:
            batches = self.progress.batches
            if batches == self._followed:
                return
            clocks = dict(self._accounts.clocks)
            reached = dict(self._accounts.reached_anew)
        self._retention.keep_up(clocks, time.time_ns() // 1_000_000)
        self._accounts.anew.committed(reached, self._lead.log)
        # Not before: what has failed is tried again.
        self._followed = batches

    def _await_restored(self) -> None:
        """Give the other lanes a moment to begin: one that fails at once is not waited for long."""
        until = time.monotonic() + _BEGIN_S
        self._tried(self._note_restored)
        while not (self._is_restored or self._closing.is_set()) and time.monotonic() < until:
            time.sleep(_TURN_S)
            self._tried(self._note_restored)

    def _note_restored(self) -> None:
        if self._is_restored or self.is_waiting or not all(x.has_begun for x in self._lanes):
            return
        if self.has_run or not self.restoring():
            self._is_restored = True
            self.restores.ended()

    def _look_for_threads(self) -> None:
        """Say what is missing, while a slot waits for a stream thread."""
        self._lead.member.check()
        if self._looking.acquire(blocking=False):
            try:
                self._executors.look()
            finally:
                self._looking.release()

    def _wait_for(self, what: str | None) -> None:
        self._shows_executors = what

    def _show_trouble(self) -> None:
        if all(n in self.placement.endpoints for n in range(self.used_slots)):
            self._executors.over()
        texts = [text for lane in self._lanes if (text := lane.trouble) is not None]
        away = self._shared.ends.away
        if away:
            named = ", ".join(f"{topic!r} partition {number}" for topic, number in sorted(away))
            texts.append(f"Kafka does not answer for {named}; the others go on")
        if self._shows_executors is not None:
            texts.insert(0, self._shows_executors)
        is_one_free = any(not lane.is_in_trouble for lane in self._lanes)
        self.progress.others_go_on = is_one_free and self._shows_executors is None
        self.progress.waiting_for = "; ".join(dict.fromkeys(texts)) or None

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

    # Questions

    def restoring(self) -> list[Restore]:
        """Return which stores are being restored; a slot that does not answer is left out."""
        return self.answers(AskRestores)

    def measures(self) -> list[TaskMeasures]:
        """Return the measures of all tasks; a slot that does not answer is left out."""
        return self.answers(AskMeasures)

    def answers(self, question: Callable[[SlotId], Look]) -> list[Any]:
        found: list[Any] = []
        for number, endpoint in list(self.placement.endpoints.items()):
            with contextlib.suppress(StreamsError):
                asked = question(SlotId(self.application.key, number))
                found += ask(endpoint, self.placement.threads.secret, asked, Waiting(silence_s=2.0))
        return found

    @contextlib.contextmanager
    def hold(self, timeout_s: float) -> Iterator[int | None]:
        """Hold all stores at one cut; yield its number, or None if there is none in time."""
        with self._gate.closed(timeout_s, drains=True) as is_quiet:
            is_there = is_quiet and not self._closing.is_set() and self.has_run
            if is_there and not self._is_under_way():
                yield self._cuts.take().batch
            else:
                yield None

    @property
    def stops(self) -> Stops:
        """Up to where lanes may read their sources."""
        return self._shared.stops

    def contained(self, store: str) -> dict[TopicPartition, int]:
        """Return up to where a store contains the records of source topics."""
        if store in self.application.plan.stores_behind_repartition:
            return self._cuts.contained()
        return dict(self.progress.position)

    def standby_lags(self) -> dict[int, int | None]:
        """Return for each slot how far its nearest copy on another executor is behind."""
        return self._movement.standby_lags()

    # The end

    def stop(self, patience_s: float) -> bool:
        """Let the lanes end what they have begun; false if one had to be cancelled."""
        deadline = time.monotonic() + patience_s
        is_quiet = self._gate.finish(patience_s)
        self._closing.set()
        if is_quiet and self.has_run and not self._is_under_way():
            self._cuts.take()
        self._gate.end()
        is_handed = self._rows.close(deadline)
        if not (is_quiet and is_handed):
            self._stages.cancel()
        return is_quiet and is_handed

    def release(self, slots: Iterable[int], *, is_moved: bool = False) -> None:
        """Make slots write their state to disk and end."""
        known = self.placement.endpoints
        leaving = {number: known[number] for number in list(slots) if number in known}
        release_slots(
            leaving, self.placement.threads.secret, self.application.key, Release(is_moved)
        )
        self.placement.forget(leaving)

    def close(self, *, keeps_slots: bool) -> None:
        """Release the slots of shared threads.

        Threads of this application alone close their slots when they end.

        Args:
            keeps_slots: leave the slots to the next run, which begins at once.
        """
        self._shared.ends.close()
        self.questions.close()
        self._movement.close()
        self._slot_watch.end()
        if not keeps_slots and self.placement.shares:
            self.release(list(self.placement.endpoints))
        self._stages.close()
