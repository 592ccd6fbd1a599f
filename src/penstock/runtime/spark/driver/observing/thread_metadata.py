"""What each stream thread and each of its tasks does, as ``metadata_for_local_threads`` returns it.

A thread is a slot: it runs its tasks inside a Spark task. The driver knows the offsets of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.states import State

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.life.leading import Leading
    from penstock.runtime.spark.exchange.plan import Plan


@dataclass(frozen=True, slots=True)
class TaskMetadata:
    """One task: what it reads, how far its commits are, and how far the topics go.

    ``committed_offsets`` and ``end_offsets`` have the partitions of the user's topics. Offsets of
    internal topics are the application's own: they are committed with the same batch.
    """

    task_id: TaskId
    topic_partitions: frozenset[TopicPartition]
    committed_offsets: Mapping[TopicPartition, int]
    end_offsets: Mapping[TopicPartition, int]

    def __hash__(self) -> int:
        return hash(self.task_id)


@dataclass(frozen=True, slots=True)
class ThreadMetadata:
    """One stream thread: a slot that runs its tasks inside a Spark task.

    ``standby_tasks`` is empty: instances that stand by keep the copies, and their threads run
    nothing else. Clients of Kafka belong to the application, so a thread has no client ids.
    """

    thread_name: str
    thread_state: str
    active_tasks: frozenset[TaskMetadata]
    standby_tasks: frozenset[TaskMetadata] = frozenset()


def thread_metadata(leading: Leading, threads: int, state: State) -> list[ThreadMetadata]:
    """Ask for the ends of all topics, and return what each thread does."""
    lag = leading.lag()
    positions = {**leading.begins_at, **leading.runner.progress.position}
    tasks = task_metadata(leading.application.plan, positions, lag)
    return threads_of(leading.application.id, tasks, threads, state)


def threads_of(
    application_id: str, tasks: list[TaskMetadata], threads: int, state: State
) -> list[ThreadMetadata]:
    """Return the threads with their tasks: those of a partition are in the same thread."""
    return [
        ThreadMetadata(
            f"{application_id}-StreamThread-{slot + 1}",
            state.value,
            frozenset(task for task in tasks if task.task_id.partition % threads == slot),
        )
        for slot in range(threads)
    ]


def task_metadata(
    plan: Plan, positions: Mapping[TopicPartition, int], lag: Mapping[TopicPartition, int]
) -> list[TaskMetadata]:
    """Return all tasks in order. A partition from which nothing was committed is left out."""
    topics: dict[int, list[str]] = {}
    for run in plan.runs:
        topics.setdefault(run.subtopology, []).extend(run.topics)
    tasks = []
    for task in plan.task_ids():
        parts = frozenset(
            (topic, task.partition)
            for topic in topics[task.subtopology]
            if task.partition < plan.partitions[topic]
        )
        committed = {part: positions[part] for part in sorted(parts) if part in positions}
        ends = {part: positions.get(part, 0) + lag[part] for part in sorted(parts) if part in lag}
        tasks.append(TaskMetadata(task, parts, committed, ends))
    return tasks
