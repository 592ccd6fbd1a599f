"""Counts what batches did, and how fast: the values behind Kafka Streams' metrics.

It is called once per batch and task. Rates and averages are over the last
``metrics.num.samples`` spans of ``metrics.sample.window.ms``, as in Kafka.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from penstock.config import METRICS_NUM_SAMPLES, METRICS_SAMPLE_WINDOW_MS, StreamsConfig
from penstock.model.latencies import NO_LATENCIES
from penstock.model.recent import Recent, Span
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.stage_request import Report
from penstock.serving.status.values import CommitStatus

#: How many commits are remembered, for those who look at how long their parts took.
_MOST_COMMITS = 120


@dataclass(slots=True)
class TaskMeter:
    """What one task did."""

    slot: int
    #: Milliseconds of each run.
    runs: Recent
    #: One value for each run: its records.
    records: Recent
    processed: int = 0
    #: Milliseconds of all runs so far.
    busy_ms: float = 0.0
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
        #: The milliseconds of each batch.
        self.batches = self._recent()
        #: By slot: the milliseconds of each batch in which no task was processing.
        self.commits: dict[int, Recent] = {}
        self.batch_records = self._recent()
        self.tasks: dict[TaskId, TaskMeter] = {}
        #: The ages of records when their task had processed them.
        self.latencies = NO_LATENCIES
        self.recent: deque[CommitStatus] = deque(maxlen=_MOST_COMMITS)

    @staticmethod
    def of(config: StreamsConfig) -> Meter:
        return Meter(config[METRICS_SAMPLE_WINDOW_MS] / 1000, config[METRICS_NUM_SAMPLES])

    def _recent(self) -> Recent:
        return Recent(self._sample_s, self._samples, self._clock)

    def note(self, batch: int, reports: Iterable[Report], seconds: float, working_s: float) -> None:
        """Add one batch of one slot.

        Args:
            batch: its number.
            reports: what its tasks have done.
            seconds: how long it took.
            working_s: how long tasks were processing in that time.
        """
        records, by_slot = 0, Counter[int]()
        for report in reports:
            records += report.records
            by_slot[report.slot] += round(report.seconds * 1_000_000)
            self._note_task(report)
        self.batches.record(seconds * 1000)
        for slot in by_slot:
            self.commits_of(slot).record(max(seconds - working_s, 0.0) * 1000)
        self.batch_records.record(records)
        self.recent.append(
            CommitStatus(
                number=batch,
                at_ms=time.time_ns() // 1_000_000,
                records=records,
                took_ms=seconds * 1000,
                working_ms=working_s * 1000,
                threads={str(slot + 1): spent / 1000 for slot, spent in sorted(by_slot.items())},
            )
        )

    def commits_of(self, slot: int) -> Recent:
        """Return the times of a slot outside of its tasks, one for each batch."""
        if slot not in self.commits:
            self.commits[slot] = self._recent()
        return self.commits[slot]

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
        task.busy_ms += report.seconds * 1000
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
            self.latencies = self.latencies.plus(span.sample)
