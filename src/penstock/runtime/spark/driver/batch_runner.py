"""The leader's work: one call per batch from Spark, one Spark job per batch to the workers."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import pyarrow as pa
from pyspark import RDD, StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import COMMIT_INTERVAL_MS, LOG_SUMMARY_INTERVAL_MS, StreamsConfig
from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.processor.listeners import StateRestoreListener
from penstock.runtime.spark.driver.batch_planner import BatchPlanner
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.driver.retention import ChangelogRetention
from penstock.runtime.spark.driver.to_spark import call_sinks, spark_sinks
from penstock.runtime.spark.exchange.batch_log import BatchLog, BatchPlan
from penstock.runtime.spark.exchange.faults import fault_point, set_faults
from penstock.runtime.spark.exchange.rows import REPORT, SPARK_SCHEMA, reports
from penstock.runtime.spark.exchange.stage_request import (
    Application,
    Release,
    Report,
    Restore,
    StageRequest,
    WarmUp,
)
from penstock.runtime.spark.worker.slot_server import ask_slot, serve, socket_path

log = logging.getLogger(__name__)

#: How long a call from Spark waits for input before it returns without a batch.
_IDLE_S = 5.0
#: Workers that are not warm by then can just as well run a batch.
_WARM_UP_S = 60.0


@dataclass(slots=True)
class Progress:
    """What has happened so far; read by the live view and by metrics."""

    batches: int = 0
    records: int = 0
    sent: int = 0
    logged: int = 0
    restored: int = 0
    #: When the first batch of this life began, in milliseconds since the epoch.
    began_ms: int | None = None
    last_batch_seconds: float = 0.0
    last_batch_records: int = 0
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    position: dict[tuple[str, int], int] = field(default_factory=dict)


class BatchRunner:
    """Runs batches. Each is planned in the batch log, run stage by stage, and then complete."""

    def __init__(
        self,
        spark: SparkSession,
        application: Application,
        batch_log: BatchLog,
        admin: Admin,
        group: Any,
        slots: int,
        planner: BatchPlanner,
    ) -> None:
        set_faults(application.config)
        self.progress = Progress()
        self.slots = slots
        self.lock = threading.Lock()
        self._spark = spark
        self._application = application
        self._log = batch_log
        self._admin = admin
        self._group = group
        state = batch_log.state
        self._clocks: dict[TaskId, Clocks] = state.clocks_at(state.complete + 1)
        self._owners: dict[int, str] = {}
        self._sinks = spark_sinks(application.plan.graph)
        self._used_slots = slots
        self._key = f"{application.id}-{application.epoch}"
        config = StreamsConfig(application.config)
        self._summary_ms = config[LOG_SUMMARY_INTERVAL_MS]
        #: When the last summary was logged, and the records and batches until then.
        self._summarized = time.monotonic(), 0, 0
        self._retention = ChangelogRetention(application.plan, config, admin)
        if state.plan is None:
            self._retention.hold()
        #: How Spark's pages call the jobs and stages of this application.
        self._title = f"{application.id}, {application.plan.title()}"
        self._broadcast = spark.sparkContext.broadcast(packed(application))
        self._planner = planner
        self._interval_s = config[COMMIT_INTERVAL_MS] / 1000
        self._next_commit = 0.0
        self._closing = threading.Event()
        self._is_warm = threading.Event()
        #: One partition per slot, for as long as their number does not change.
        self._places: RDD[int] | None = None
        self.restore_listener: StateRestoreListener | None = None

    # One batch

    def warm_up(self) -> None:
        """Starts workers, and lets them get ready for the first batch: clients, stores, tasks.

        That batch would otherwise do it all, and is planned only when this is done.
        """
        try:
            plan = self._planner.first()
            order = WarmUp(None if plan is None else self._order(plan, 0))
            if self._is_one_job:
                self._on_slots(order)
            else:
                _collected(self._chained([order] * self._application.plan.stages))
        except Exception as error:  # noqa: BLE001 - the first batch meets the same, and says so
            log.info("the workers could not be warmed up: %s", error)
        finally:
            self._is_warm.set()

    def on_batch(self, frame: DataFrame, spark_batch: int) -> None:
        """What ``foreachBatch`` calls. The frame is only the beat: it has no rows of ours."""
        plan = self._wait_for_batch()
        if plan is None:
            return
        started = time.monotonic()
        self._next_commit = started + self._interval_s
        if self.progress.began_ms is None:
            self.progress.began_ms = time.time_ns() // 1_000_000
        with self.lock:
            if self._closing.is_set():
                return
            self._log.begin(plan)
            if self.slots != self._used_slots:
                self.release(self._used_slots)
            self._used_slots = self.slots
            fault_point("planned", plan)
            received = self._run(plan)
            fault_point("ran", plan)
        if not self._application.exactly_once:
            self._commit_offsets(plan)
        self._note(plan, received, time.monotonic() - started)

    def _wait_for_batch(self) -> BatchPlan | None:
        """Waits for the next commit's time, and for input; a backlog waits for neither.

        To wait here costs next to nothing. A trigger of Spark's would make a backlog wait, too.
        """
        self._is_warm.wait(_WARM_UP_S)
        if not self._planner.is_behind:
            self._closing.wait(max(self._next_commit - time.monotonic(), 0.0))
        deadline = time.monotonic() + _IDLE_S
        while not self._closing.is_set():
            plan = self._planner.next()
            if plan is not None or time.monotonic() > deadline:
                return plan
            self._closing.wait(self._interval_s)
        return None

    def _run(self, plan: BatchPlan) -> list[Report]:
        self._spark.sparkContext.setJobDescription(f"{self._title}: batch {plan.batch}")
        if self._is_one_job:
            return self._run_one_stage(plan)
        return self._run_stages(plan)

    def _run_one_stage(self, plan: BatchPlan) -> list[Report]:
        """Without a shuffle there are only reports to collect, and no query to be planned."""
        return self._on_slots(self._order(plan, 0))

    def _on_slots(
        self, order: StageRequest | Release | WarmUp, slots: int | None = None
    ) -> list[Report]:
        """Runs an order on every slot: a plain RDD spares Spark the planning of a query."""
        number = slots or self.slots
        if self._places is None or self._places.getNumPartitions() != number:
            self._places = self._spark.sparkContext.parallelize(range(number), number)
        return self._places.mapPartitions(self._stage(order).reports).collect()

    def _run_stages(self, plan: BatchPlan) -> list[Report]:
        stages = range(self._application.plan.stages)
        frame = self._chained([self._order(plan, stage) for stage in stages])
        if not self._sinks:
            return _collected(frame)
        # The rows for the sinks are computed once, together with the reports.
        frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            received = _collected(frame)
            if plan.has_input or any(report.has_wall_clock for report in received):
                call_sinks(self._sinks, frame, plan.batch)
        finally:
            frame.unpersist()
        return received

    @property
    def _is_one_job(self) -> bool:
        """Whether batches need neither a shuffle nor what is written for Spark."""
        return self._application.plan.stages == 1 and not self._sinks

    def _chained(self, orders: Sequence[StageRequest | WarmUp]) -> DataFrame:
        """The query of a batch: a stage per order, and a shuffle between them."""
        slots = self.slots
        frame = self._spark.range(0, slots, 1, slots).toDF("slot")
        for stage, order in enumerate(orders):
            if stage:
                frame = frame.repartitionById(slots, col("slot"))
            step = self._stage(order)
            # What Spark's page of the query calls this step.
            step.__name__ = self._application.plan.stage_title(stage)
            frame = frame.mapInArrow(step, SPARK_SCHEMA)
        return frame

    def _stage(self, order: StageRequest | Release | WarmUp) -> _StageFunction:
        return _StageFunction(self._broadcast, self._key, order)

    def _order(self, plan: BatchPlan, stage: int) -> StageRequest:
        return StageRequest(
            batch=plan.batch,
            stage=stage,
            slots=self.slots,
            clock_ms=plan.clock_ms,
            ranges={part: (plan.start[part], end) for part, end in plan.end.items()},
            clocks=self._clocks,
            done=self._log.state.done(plan.batch, stage),
            global_ends=plan.global_ends,
            group=self._group,
            owners=dict(self._owners),
        )

    def _commit_offsets(self, plan: BatchPlan) -> None:
        self._admin.alter_group_offsets(self._application.id, dict(plan.end))

    def _note(self, plan: BatchPlan, received: list[Report], seconds: float) -> None:
        # The next plan says that this batch is complete; only the last one needs a word of its own.
        self._log.state.complete = plan.batch
        self._log.state.markers.clear()
        progress = self.progress
        # A task may have run in several stages: the last one knows its clocks.
        for report in sorted(received, key=lambda each: each.stage):
            self._clocks[report.task] = report.clocks
            self._owners[report.slot] = report.owner
            progress.sent += report.sent
            progress.logged += report.logged
            progress.restored += sum(each.records for each in report.restores)
            self._tell(report.restores)
            progress.dropped.update(report.dropped)
        self._retention.keep_up(self._clocks, time.time_ns() // 1_000_000)
        records = sum(report.records for report in received if report.stage == 0)
        self._planner.learn(records, seconds)
        progress.batches += 1
        progress.records += records
        progress.last_batch_records = records
        progress.last_batch_seconds = seconds
        progress.position = {**plan.end, **plan.global_ends}
        self._summarize()

    def _summarize(self) -> None:
        """Logs every now and then what has been done since the last time."""
        now, progress = time.monotonic(), self.progress
        since = now - self._summarized[0]
        if 0 <= self._summary_ms <= since * 1000:
            log.info(
                "%s: %d records in %d batches in the last %.0f s",
                self._application.id, progress.records - self._summarized[1],
                progress.batches - self._summarized[2], since,
            )  # fmt: skip
            self._summarized = now, progress.records, progress.batches

    def _tell(self, restores: tuple[Restore, ...]) -> None:
        listener = self.restore_listener
        if listener is None:
            return
        for each in restores:
            part = (each.topic, each.partition)
            listener.on_restore_start(part, each.store, each.start, each.end)
            listener.on_batch_restored(part, each.store, each.position, each.records)
            listener.on_restore_end(part, each.store, each.records)

    def restoring(self) -> list[Restore]:
        """What the slots are reading back right now; none that cannot be reached."""
        found: list[Restore] = []
        for number in range(self.slots):
            if socket_path(self._key, number).exists():
                with contextlib.suppress(StreamsError, OSError):
                    found += ask_slot(self._key, number, ("restoring",))
        return found

    # The end

    def stop(self, query: StreamingQuery | None) -> None:
        """Ends the query after the batch that is under way; no other one begins."""
        self._closing.set()
        # A batch that still waits for the workers has not begun.
        self._is_warm.set()
        with self.lock:
            # The batch that was under way has ended. The lock is given back, because a call from
            # Spark that had just planned a batch waits for it, and the query for that call.
            pass
        if query is not None and query.isActive:
            query.stop()

    def release(self, slots: int) -> None:
        """Lets every slot bring its state to disk and go."""
        self._on_slots(Release(self._log.state.complete), slots)

    def close(self) -> None:
        """Writes down that the last batch is complete, and lets the slots go."""
        with self.lock:
            state = self._log.state
            if state.plan is not None and state.complete == state.plan.batch:
                self._log.finish(state.complete)
            self.release(self._used_slots)
        self._broadcast.unpersist()


def _collected(frame: DataFrame) -> list[Report]:
    return reports(frame.filter(col("stage") == REPORT).select("stage", "value").collect())


class _StageFunction:
    """What a Spark task runs. Pickled with every batch, so it carries only the order."""

    __name__ = "penstock"

    def __init__(self, broadcast: Any, key: str, order: StageRequest | Release | WarmUp) -> None:
        self._broadcast = broadcast
        self._key = key
        self._order = order

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        order = self._order
        # The first stage gets a row per slot only so that Spark has something to hand out.
        inputs: Iterator[pa.RecordBatch] = batches
        if not isinstance(order, StageRequest) or order.stage == 0:
            for _ in batches:
                pass
            inputs = iter(())
        yield from serve(self._load, self._key, order, number, inputs)

    def reports(self, places: Iterable[int]) -> list[Report]:
        """The same as a function over an RDD with one partition per slot."""
        return [each for batch in self(iter(())) for each in reports(batch.to_pylist())]

    def _load(self) -> Application:
        application: Application = cloudpickle.loads(self._broadcast.value)
        return application
