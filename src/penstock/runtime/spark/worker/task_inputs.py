"""What a task reads in one stage, where reading continues, and its report if it ran nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from penstock.model.recent import Span
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.batch_log import Marker
from penstock.runtime.spark.exchange.bundles import Sent, position_after
from penstock.runtime.spark.exchange.measures import ages
from penstock.runtime.spark.exchange.plan import Run
from penstock.runtime.spark.exchange.stage_request import Report, Skips, StageRequest
from penstock.runtime.spark.exchange.work import Work, size_of


class TaskInputs:
    """The input of one task in one stage, and the offset at which each part of it ends."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}
        self.sent: list[Sent] = []
        #: The size of the bundles in which ``sent`` came.
        self.sent_bytes = 0
        self.truncated: frozenset[str] = frozenset()
        self.ends: dict[TopicPartition, int] = {}
        #: For repartition topics: how much of the first bundles earlier batches have processed.
        self.skips: dict[TopicPartition, Skips] = {}

    def work(self, consumed: Mapping[str, int]) -> Work:
        """Return how much of the input was processed."""
        size = 0
        for topic, columns in self.records.items():
            taken = columns.cut(0, consumed.get(topic, 0))
            size += size_of(taken.keys) + size_of(taken.values)
        # A bundle may be processed in part.
        rows = sum(map(len, self.sent))
        done = sum(consumed.get(sent.queue, 0) for sent in self.sent)
        size += self.sent_bytes * done // max(rows, 1)
        return Work(records_read=sum(consumed.values()), bytes_read=size)

    def ages(self, consumed: Mapping[str, int]) -> dict[str, Span]:
        """Return the age of the processed records of each source topic, as of now."""
        now_ms = time.time_ns() // 1_000_000
        found = {
            topic: ages(columns.timestamps[: consumed.get(topic, 0)], now_ms)
            for topic, columns in self.records.items()
        }
        return {topic: span for topic, span in found.items() if span is not None}

    def positions(
        self, consumed: Mapping[str, int]
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, Skips]]:
        """Return where reading continues after ``consumed`` records of each queue."""
        positions, skips = dict(self.ends), dict[TopicPartition, Skips]()
        for topic, columns in self.records.items():
            taken = consumed.get(topic, 0)
            if taken < len(columns):
                positions[topic, columns.partition] = columns.offsets[taken]
        progress: dict[TopicPartition, list[tuple[int, int, int]]] = {
            part: [] for part in self.skips
        }
        for sent in self.sent:
            part = sent.topic, sent.partition
            progress[part].extend(sent.progress(consumed.get(sent.queue, 0)))
        for part, rows in progress.items():
            positions[part], left = position_after(rows, self.ends[part], self.skips[part])
            if left:
                skips[part] = left
        return positions, skips


def by_topic(consumed: Mapping[str, int]) -> dict[str, int]:
    """Add up the counts of queues by topic; a repartition topic has one queue per upstream task."""
    found: dict[str, int] = {}
    for queue, count in consumed.items():
        topic = queue.partition("|")[0]
        found[topic] = found.get(topic, 0) + count
    return found


def repeated(task: TaskId, slot: int, request: StageRequest, marker: Marker) -> Report:
    """Return the report of a task that has already committed this stage, from its marker."""
    return Report(
        task=task, stage=request.stage, slot=slot, clocks=marker.clocks,
        positions=marker.positions, skips=marker.skips, is_repeated=True,
    )  # fmt: skip


def stayed(
    run: Run, task: TaskId, slot: int, request: StageRequest, *,
    is_waiting: bool = False, stuck: frozenset[TopicPartition] = frozenset(),
) -> Report:  # fmt: skip
    """Return the report of a task that has processed nothing: it stays where the batch begins."""
    parts = [(topic, task.partition) for topic in run.topics]
    starts = {part: request.ranges[part][0] for part in parts if part in request.ranges}
    return Report(
        task=task, stage=request.stage, slot=slot, positions=starts, is_waiting=is_waiting,
        skips={part: request.skips[part] for part in starts if part in request.skips},
        stuck=stuck,
    )  # fmt: skip
