"""Counts what batches did, and how fast: the values behind Kafka Streams' metrics.

It is called once per batch and task. Rates and averages are over the last
``metrics.num.samples`` spans of ``metrics.sample.window.ms``, as in Kafka.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from penstock.config import METRICS_NUM_SAMPLES, METRICS_SAMPLE_WINDOW_MS, StreamsConfig
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.measures import Recent, Span
from penstock.runtime.spark.exchange.stage_request import Report


@dataclass(slots=True)
class TaskMeter:
    """What one task did."""

    slot: int
    #: Milliseconds of each run.
    runs: Recent
    #: One value for each run: its records.
    records: Recent
    processed: int = 0
    dropped: Recent | None = None
    restored: Recent | None = None
    #: By topic: records that were consumed.
    consumed: Counter[str] = field(default_factory=Counter)
    #: By source topic: the age of records when their batch was processed.
    ages: dict[str, Recent] = field(default_factory=dict)


class Meter:
    """Adds up the reports of batches."""

    def __init__(
        self, sample_s: float, samples: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sample_s, self._samples, self._clock = sample_s, samples, clock
        self.began_ms = time.time_ns() // 1_000_000
        #: The milliseconds of each batch, and those in which no task was processing.
        self.batches = self._recent()
        self.commits = self._recent()
        self.batch_records = self._recent()
        self.tasks: dict[TaskId, TaskMeter] = {}

    @staticmethod
    def of(config: StreamsConfig) -> Meter:
        return Meter(config[METRICS_SAMPLE_WINDOW_MS] / 1000, config[METRICS_NUM_SAMPLES])

    def _recent(self) -> Recent:
        return Recent(self._sample_s, self._samples, self._clock)

    def note(self, reports: Iterable[Report], seconds: float, working_s: float) -> None:
        """Add one batch.

        Args:
            seconds: how long it took.
            working_s: how long tasks were processing in that time.
        """
        records = 0
        for report in reports:
            records += report.records
            self._note_task(report)
        self.batches.record(seconds * 1000)
        self.commits.record(max(seconds - working_s, 0.0) * 1000)
        self.batch_records.record(records)

    def _note_task(self, report: Report) -> None:
        task = self.tasks.get(report.task)
        if task is None:
            task = self.tasks[report.task] = TaskMeter(
                report.slot, self._recent(), self._recent(), dropped=self._recent(),
                restored=self._recent(),
            )  # fmt: skip
        assert task.dropped is not None
        assert task.restored is not None
        task.slot = report.slot
        task.runs.record(report.seconds * 1000)
        task.records.record(report.records)
        task.processed += report.records
        task.consumed.update(report.consumed)
        lost = sum(report.dropped.values())
        if lost:
            task.dropped.add(Span(lost, lost, 1, 1))
        restored = sum(each.records for each in report.restores)
        if restored:
            task.restored.add(Span(restored, restored, 1, 1))
        for topic, span in report.ages.items():
            if topic not in task.ages:
                task.ages[topic] = self._recent()
            task.ages[topic].add(span)
