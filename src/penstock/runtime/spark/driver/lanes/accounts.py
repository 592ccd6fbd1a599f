"""Adds up what the slots of an application report."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.observing.meter import Meter
from penstock.runtime.spark.driver.observing.progress import Progress
from penstock.runtime.spark.driver.observing.restore_watch import RestoreWatch
from penstock.runtime.spark.driver.observing.tracing import BatchTracer
from penstock.runtime.spark.exchange.batch_log import Cut, LogState
from penstock.runtime.spark.exchange.plan import driver_sinks
from penstock.runtime.spark.exchange.stage_request import Application, Report


class Accounts:
    """Where the tasks of an application are, and what they have done.

    The lanes call it one at a time, under the lock that they share.
    """

    def __init__(
        self,
        application: Application,
        state: LogState,
        positions: dict[TopicPartition, int],
        internal: InternalPositions,
        anew: MadeAnew,
    ) -> None:
        plan = application.plan
        self.anew = anew
        self.progress = Progress()
        self.restores: RestoreWatch | None = None
        self.meter: Meter | None = None
        self.tracer: BatchTracer | None = None
        self.clocks: dict[TaskId, Clocks] = state.clocks()
        self.tables: dict[int, Mapping[TopicPartition, int]] = {}
        #: Whether something was committed that no cut contains.
        self.has_news = False
        #: The new positions of topics that were made anew, as far as they are committed.
        self.reached_anew: dict[TopicPartition, int] = {}
        #: The next offset of each partition with rows for ``to_spark`` and ``to_lake``.
        self.spark_rows: dict[TopicPartition, int] = {}
        #: How often a task has run whose rows only Kafka knows.
        self.unknown_rows = 0
        self._application = application
        self._positions, self._internal = positions, internal
        self._has_spark_rows = bool(driver_sinks(plan.graph))
        self._sources = set(plan.graph.source_changelogs.values())
        self._ends = {} if state.cut is None else dict(state.cut.ends)

    def note_stage(self, reports: Sequence[Report]) -> None:
        """Take over where the tasks are after a stage."""
        self.has_news = self.has_news or bool(reports)
        reached = self.anew.reached(reports)
        self.reached_anew |= {p: at for p, at in reached.items() if p in self.anew.parts}
        for part, at in reached.items():
            if part in self._positions:
                self._positions[part] = at
                self.progress.position[part] = at
        self._internal.advance(reports)
        for report in reports:
            self._ends |= report.changelog_ends
            if report.clocks is not None:
                self.clocks[report.task] = report.clocks
            if self._has_spark_rows:
                self._note_spark_rows(report)
            self.progress.restored += sum(each.records for each in report.restores)

    def note_restores(self, reports: Sequence[Report]) -> None:
        """Tell the user's listener which stores are restored.

        The caller has no lock: a listener that hangs holds up no other lane.
        """
        for report in reports:
            if report.restores and not report.is_waiting and self.restores is not None:
                self.restores.completed(report.restores)

    def _note_spark_rows(self, report: Report) -> None:
        self.unknown_rows += report.is_repeated
        for part, at in report.written.items():
            if not self._internal.is_internal(part):
                self.spark_rows[part] = max(self.spark_rows.get(part, 0), at)

    def note_batch(self, batch: int, reports: Sequence[Report], seconds: float) -> float:
        """Count a batch of one lane; return how long no task was running in it."""
        progress = self.progress
        busy: defaultdict[int, float] = defaultdict(float)
        for report in reports:
            busy[report.stage] += report.seconds
            progress.sent += report.sent
            progress.logged += report.logged
            progress.dropped.update(report.dropped)
            progress.column_errors.update(report.column_errors)
        records = self.records_of(reports)
        working_s = sum(busy.values())
        if self.meter is not None:
            self.meter.note(batch, reports, seconds, working_s)
        if self.tracer is not None:
            self.tracer.completed(batch, reports, seconds)
        progress.batches += 1
        progress.records += records
        progress.last_batch_records = records
        progress.last_batch_seconds = seconds
        return max(seconds - working_s, 0.0)

    def records_of(self, reports: Sequence[Report]) -> int:
        """Return how many records of source topics were processed."""
        return sum(
            report.records
            for report in reports
            if any(part in self._positions for part in report.positions)
        )

    def note_tables(self, lane: int, tables: Mapping[TopicPartition, int]) -> None:
        """Note up to where a lane has read the global topics."""
        self.tables[lane] = tables
        for part in tables:
            self.progress.position[part] = min(each.get(part, 0) for each in self.tables.values())

    def began(self) -> None:
        if self.progress.began_ms is None:
            self.progress.began_ms = time.time_ns() // 1_000_000

    def cut(self, number: int) -> Cut:
        """Return the state of all stores as of the last commit of every lane."""
        self.has_news = False
        tables = {part: at for part, at in self._positions.items() if part[0] in self._sources}
        globals_ = {
            part: min(each.get(part, 0) for each in self.tables.values())
            for part in next(iter(self.tables.values()), {})
        }
        return Cut(
            self._application.generation, number, self._ends | tables, globals_,
            dict(self._positions),
        )  # fmt: skip
