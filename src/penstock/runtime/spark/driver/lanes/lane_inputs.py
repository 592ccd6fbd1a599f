"""What one lane reads next: up to the ends of its partitions, within a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.idling import Idling
from penstock.runtime.spark.driver.lanes.batch_size import FULL, BatchSize
from penstock.runtime.spark.driver.threads.shared_offsets import Offsets
from penstock.runtime.spark.exchange.stage_request import Range

_Ends = Mapping[TopicPartition, int]
#: No timestamp in milliseconds is later than the first of these before the year 2248. Timestamps
#: in other units may be, up to the second one.
_USUAL_LATEST_MS, _LATEST_MS = 1 << 43, (1 << 63) - 1
_CLOCK_ROOM_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSettings:
    """What all lanes of an application have in common."""

    max_records: int
    read_committed: bool
    max_idle_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The input of one batch of a lane from source topics, and what else the batch sees."""

    clock_ms: int
    ranges: Mapping[TopicPartition, Range] = field(default_factory=dict)
    #: Up to where global topics are read.
    tables: _Ends = field(default_factory=dict)
    #: The partitions where more records are waiting than the batch takes.
    behind: frozenset[TopicPartition] = frozenset()

    @property
    def has_input(self) -> bool:
        return any(start < end for start, end in self.ranges.values())


class LaneInputs:
    """Plans the batches of one lane. Each begins where its tasks are.

    Args:
        tasks: for each task of the lane the partitions of source topics that it reads.
        offsets: answers questions about single partitions.
    """

    def __init__(
        self,
        tasks: Sequence[tuple[TopicPartition, ...]],
        settings: InputSettings,
        offsets: Offsets,
    ) -> None:
        self._tasks = tuple(tasks)
        self._settings = settings
        self._offsets = offsets
        self._idling = Idling(self._tasks, settings.max_idle_ms)
        self._clock_ms = 0
        self.size = BatchSize(settings.max_records)

    def parts(self, partitions: Collection[int]) -> list[TopicPartition]:
        """Return the partitions of source topics with these numbers that the lane reads."""
        return [part for task in self._tasks for part in task if part[1] in partitions]

    def clock_ms(self) -> int:
        """Return the wall clock of the next batch.

        A clock that was set back a little stands still. One that was wrong by far is put right.
        """
        now_ms = time.time_ns() // 1_000_000
        is_wrong = self._clock_ms > now_ms + _CLOCK_ROOM_MS
        self._clock_ms = now_ms if is_wrong else max(self._clock_ms, now_ms)
        return self._clock_ms

    def plan(self, start: _Ends, ends: _Ends, tables: _Ends) -> Planned:
        """Plan the next batch.

        Args:
            start: where the tasks are, for each partition that may be read.
            ends: where partitions end. Those that are not known have nothing to read now.
            tables: up to where global topics may be read.
        """
        there = self._usable(start, {part: ends.get(part, at) for part, at in start.items()})
        now_ms = time.time_ns() // 1_000_000
        found = self._idling.held_back(start, there, now_ms)
        capped = self._capped(start, found)
        return Planned(
            clock_ms=self.clock_ms(),
            ranges={part: (at, capped[part]) for part, at in start.items()},
            tables=tables,
            behind=frozenset(part for part, end in found.items() if capped[part] < end),
        )

    def _usable(self, start: _Ends, ends: _Ends) -> _Ends:
        if all(ends[part] >= at for part, at in start.items()):
            return ends
        if self._settings.read_committed:
            # An application that has read uncommitted records before may be beyond the first open
            # transaction. It waits there; only the end of the log shows whether records were lost.
            _check_ends(start, self._offsets.end_offsets(list(start), committed=False))
            return {part: max(ends[part], at) for part, at in start.items()}
        _check_ends(start, self._offsets.end_offsets(list(start)))
        return {part: max(ends[part], at) for part, at in start.items()}

    def _capped(self, start: _Ends, ends: _Ends) -> _Ends:
        most = self.size.offsets
        if not any(len(parts) > 1 for parts in self._tasks):
            return cap(start, ends, most)

        def offsets_at(time_ms: int) -> dict[TopicPartition, int]:
            found = self._offsets.offsets_at(start, time_ms)
            # The offset may be before the start, because of late records, or -1, if no record has
            # that time yet.
            return {
                part: ends[part] if at < 0 else min(max(at, start[part]), ends[part])
                for part, at in found.items()
            }

        return cap_by_time(start, ends, most, offsets_at)


def _check_ends(start: _Ends, ends: _Ends) -> None:
    """Raise if a topic ends before the position. It was created again, or has lost records."""
    for (topic, number), at in start.items():
        if ends[topic, number] < at:
            raise StreamsError(
                "offset-out-of-range",
                f"topic {topic!r} partition {number} ends at {ends[topic, number]}, before the"
                f" committed offset {at}: it was created again or lost records",
                fix="auto.offset.reset says where to continue",
            )


def within(read: _Ends, ends: _Ends) -> dict[TopicPartition, int]:
    """Return how far global topics were read: 0 for a topic that was created again since."""
    return {part: at if at <= ends.get(part, 0) else 0 for part, at in read.items()}


def cap(start: _Ends, ends: _Ends, most: int) -> dict[TopicPartition, int]:
    """Return the ends of a batch of at most so many records, with a share of each partition."""
    waiting = {part: max(ends[part] - at, 0) for part, at in start.items()}
    total = sum(waiting.values())
    if total <= most:
        return {part: at + waiting[part] for part, at in start.items()}
    share = most / total
    return {part: at + int(waiting[part] * share + 0.999) for part, at in start.items()}


def cap_by_time(
    start: _Ends, ends: _Ends, most: int, offsets_at: Callable[[int], _Ends]
) -> dict[TopicPartition, int]:
    """Return the ends of a batch of at most so many records: the oldest of all partitions.

    Records of topics that are joined are processed in order of time, also over batches: an event
    must not run ahead of the table row before it only because the topics differ in length.
    """
    if _distance(start, ends) <= most:
        return dict(ends)
    before, early, late = dict(start), 0, _USUAL_LATEST_MS
    found = offsets_at(late)
    if _distance(start, found) <= most:
        before, early, late = dict(found), late, _LATEST_MS
    while late - early > 1 and _distance(start, before) < most * FULL:
        middle = (early + late) // 2
        found = offsets_at(middle)
        if _distance(start, found) <= most:
            before, early = dict(found), middle
        else:
            late = middle
    if before != dict(start):
        return before
    # More records have the same timestamp than a batch should have. If even the latest time is not
    # after them, the order of time cannot be kept.
    found = offsets_at(late)
    return cap(start, ends if dict(found) == dict(start) else found, most)


def _distance(start: _Ends, end: _Ends) -> int:
    return sum(max(end[part] - at, 0) for part, at in start.items())
