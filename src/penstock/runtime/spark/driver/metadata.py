"""What an application tells about itself: numbers so far, and who runs which task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.model.task_id import TaskId
from penstock.runtime.states import State

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.application_run import ApplicationRun


@dataclass(frozen=True, slots=True)
class StreamsMetrics:
    """Totals since the start. ``dropped`` counts by node and reason.

    ``column_errors`` counts runs of tasks that went record at a time because of a fault in the
    column path, by kind and place in the code: results are right, but slower. The log has more.
    """

    state: State
    threads: int
    batches: int
    records: int
    records_sent: int
    changelog_records: int
    restored_records: int
    last_batch_seconds: float
    last_batch_records: int
    dropped: Mapping[tuple[str, str], int]
    lag: Mapping[tuple[str, int], int]
    column_errors: Mapping[str, int]

    @staticmethod
    def of(run: ApplicationRun, state: State, threads: int) -> StreamsMetrics:
        runner = run.runner
        assert runner is not None
        progress = runner.progress
        return StreamsMetrics(
            state=state,
            threads=threads,
            batches=progress.batches,
            records=progress.records,
            records_sent=progress.sent,
            changelog_records=progress.logged,
            restored_records=progress.restored,
            last_batch_seconds=progress.last_batch_seconds,
            last_batch_records=progress.last_batch_records,
            dropped=dict(progress.dropped),
            # While Kafka is away the lag cannot be asked for, and other figures still count.
            lag=run.lag() if progress.waiting_for is None else run.last_lag,
            column_errors=dict(progress.column_errors),
        )


@dataclass(frozen=True, slots=True)
class ThreadMetadata:
    """One stream thread: a slot that runs its tasks inside a Spark task."""

    thread_name: str
    active_tasks: tuple[TaskId, ...]


def thread_metadata(run: ApplicationRun, threads: int) -> list[ThreadMetadata]:
    application = run.application
    assert application is not None
    plan = application.plan
    tasks = sorted(
        {
            TaskId(run.subtopology, number)
            for run in plan.runs
            for number in range(plan.tasks(run.subtopology))
        }
    )
    return [
        ThreadMetadata(
            f"{application.id}-StreamThread-{slot + 1}",
            tuple(task for task in tasks if task.partition % threads == slot),
        )
        for slot in range(threads)
    ]
