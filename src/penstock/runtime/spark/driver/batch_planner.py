"""Chooses the offset ranges of each batch: up to the ends of partitions, within a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.idling import Idling
from penstock.runtime.spark.driver.threads.shared_offsets import Offsets
from penstock.runtime.spark.exchange.batch_log import BatchPlan, LogState

#: No timestamp in milliseconds is later than the first of these before the year 2248. Timestamps
#: in other units may be, up to the second one.
_USUAL_LATEST_MS, _LATEST_MS = 1 << 43, (1 << 63) - 1
#: How long a batch of a backlog should take, and how long at most. A shorter batch would consist
#: mostly of overhead.
_BATCH_S, _LONGEST_S = 2.0, 8.0
_FIRST_RECORDS = 5_000
_FEWEST_RECORDS = 200
_LEAST_DENSITY = 0.001
_CLOCK_ROOM_MS = 60_000
#: The part of a batch that does not depend on its records may take this share of its time.
_FIXED_SHARE = 0.1
#: The weight of a batch relative to the one after it, when the fixed part is estimated.
_MEMORY = 0.8
#: If the sizes of batches differ by less than this share, they do not show the cost of a record.
_ALIKE = 0.1
#: The search for the end of a batch stops when the batch is filled to this share.
_FULL = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of all batches. They do not change while an application runs."""

    global_parts: tuple[TopicPartition, ...]
    max_records: int
    #: Whether there are punctuations by the wall clock, which need batches without input.
    has_wall_clock: bool
    read_committed: bool
    #: For each task the partitions it reads, and how long it waits for those without data.
    tasks: tuple[tuple[TopicPartition, ...], ...] = ()
    max_idle_ms: int = 0

    @property
    def has_joined(self) -> bool:
        """Whether a task reads several partitions, which must not run ahead of each other."""
        return any(len(parts) > 1 for parts in self.tasks)


class Overhead:
    """Estimates the time of a batch outside its tasks: a fixed part and a part per record.

    The estimate is a straight line through the batches so far; later ones have more weight. If all
    batches have about the same size, the last known slope is used.
    """

    def __init__(self) -> None:
        self._weight = self._x = self._y = self._xx = self._xy = 0.0
        self._slope = 0.0

    def note(self, records: int, seconds: float) -> float:
        """Add a batch; return the estimated fixed part in seconds."""
        for name in ("_weight", "_x", "_y", "_xx", "_xy"):
            setattr(self, name, getattr(self, name) * _MEMORY)
        self._weight += 1.0
        self._x += records
        self._y += seconds
        self._xx += records * records
        self._xy += records * seconds
        mean_x, mean_y = self._x / self._weight, self._y / self._weight
        spread = self._xx / self._weight - mean_x * mean_x
        if spread > (_ALIKE * mean_x) ** 2:
            slope = (self._xy / self._weight - mean_x * mean_y) / spread
            self._slope = max(slope, 0.0)
        return min(max(mean_y - self._slope * mean_x, 0.0), mean_y)


class BatchPlanner:
    """Plans one batch after the other. Each begins where the last one ended."""

    def __init__(
        self,
        admin: Offsets,
        inputs: Inputs,
        last: BatchPlan,
        unfinished: BatchPlan | None,
        made_anew: MadeAnew | None = None,
    ) -> None:
        self.is_paused = False
        self.made_anew = made_anew or MadeAnew()
        self._admin = admin
        self._inputs = inputs
        self._last = last
        self._unfinished = unfinished
        self._overhead = Overhead()
        self._idling = Idling(inputs.tasks, inputs.max_idle_ms)
        #: Where the first batch of this run begins.
        self.begins_at = last.end
        self._has_begun = False
        #: Whether a batch is needed even without input, to restore the state of a lost slot.
        self.wants_batch = False
        #: Whether a batch has left records of repartition topics to the next one.
        self.has_leftover = False
        self.most_records = min(_FIRST_RECORDS, inputs.max_records)
        #: The share of offsets that have a record.
        self._density = 1.0
        #: Whether the last batch could not take all waiting records.
        self.is_behind = False

    @property
    def has_wall_clock(self) -> bool:
        return self._inputs.has_wall_clock

    def next(self) -> BatchPlan | None:
        """Return the next batch, or None if there is nothing to do yet.

        A batch that was under way when the last leader died comes first, over the same ranges. The
        first batch of a run needs no input: it creates the tasks and restores their state, so that
        stores can be queried, and a task that cannot start fails at once.
        """
        if self._unfinished is not None:
            self._last, self._unfinished = self._unfinished, None
            self._has_begun = True
            return self._last
        if self.is_paused:
            return None
        start, last = self._last.end, self._last
        now_ms = time.time_ns() // 1_000_000
        there = self._input_ends(start)
        found = self._idling.held_back(start, there, now_ms)
        ends = self._capped(start, found)
        self.is_behind = any(ends[part] < end for part, end in found.items())
        tables = self._ends(list(self._inputs.global_parts))
        # A changed global table is a reason for a batch: queries see it as of the newest batch.
        is_new = ends != start or tables != last.global_ends or self.has_leftover
        is_new, self.wants_batch = is_new or self.wants_batch, False
        if not is_new and self._has_begun and not self._inputs.has_wall_clock:
            return None
        self._has_begun = True
        # A clock that was set back a little stands still. One that was wrong by far is put right.
        is_wrong = last.clock_ms > now_ms + _CLOCK_ROOM_MS
        clock_ms = now_ms if is_wrong else max(last.clock_ms, now_ms)
        read = _within(last.global_ends, tables)
        self._last = BatchPlan(last.batch + 1, start, ends, clock_ms, tables, read)
        return self._last

    def first(self) -> BatchPlan | None:
        """Return the next batch without its ends; None if it also depends on the wall clock."""
        if self._inputs.has_wall_clock:
            return None
        if self._unfinished is not None:
            return self._unfinished
        last, tables = self._last, self._ends(list(self._inputs.global_parts))
        read = _within(last.global_ends, tables)
        return BatchPlan(last.batch + 1, last.end, last.end, last.clock_ms, tables, read)

    def advance(self, reached: Mapping[TopicPartition, int]) -> None:
        """Continue where the tasks are: a batch may have ended before its ranges do."""
        ends = {**self._last.end, **reached}
        if any(reached.get(part, end) < end for part, end in self._last.end.items()):
            self.is_behind = True
        self._last = replace(self._last, end=ends)

    def learn(self, records: int, seconds: float, overhead_s: float = 0.0) -> None:
        """Size the next full batch by the time that this one took.

        If the fixed part is long, as it is with many stages, batches are longer. Otherwise most of
        the time would be overhead, and a second executor would not help.

        Args:
            overhead_s: the part of ``seconds`` in which no task was running.
        """
        self._note_density(records)
        if records < self.most_records * _FULL or seconds <= 0:
            return
        fixed_s = self._overhead.note(records, overhead_s)
        wanted_s = min(max(_BATCH_S, fixed_s / _FIXED_SHARE), _LONGEST_S)
        per_record_s = max(seconds - fixed_s, seconds / 10) / records
        fitting = int(max(wanted_s - fixed_s, wanted_s / 2) / per_record_s)
        # In steps, because the first batches include work that is done only once.
        grown = min(fitting, 4 * self.most_records)
        self.most_records = max(min(grown, self._inputs.max_records), _FEWEST_RECORDS)

    def _note_density(self, records: int) -> None:
        """Note how many of the offsets of the last batch had a record.

        A compacted topic may have one in a thousand. Batches then take as many more offsets, in
        steps, because the next ones may have a record each.
        """
        last = self._last
        offsets = sum(end - last.start.get(part, end) for part, end in last.end.items())
        if offsets >= _FEWEST_RECORDS:
            found = min(records / offsets, 1.0)
            self._density = max(found, self._density / 4, _LEAST_DENSITY)

    def _input_ends(self, start: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        ends = self._ends(list(start))
        if self._inputs.read_committed and any(ends[part] < at for part, at in start.items()):
            # An application that has read uncommitted records before may be beyond the first open
            # transaction. It waits there; only the end of the log shows whether records were lost.
            self._check_ends(start, self._admin.end_offsets(list(start), committed=False))
            return {part: max(ends[part], at) for part, at in start.items()}
        self._check_ends(start, ends)
        return ends

    def held_back(self) -> dict[TopicPartition, int]:
        """Return where inputs end for a reader of committed records, and more records follow.

        Open transactions hold those records back.
        """
        if not self._inputs.read_committed:
            return {}
        at = self._last.end
        visible = self._ends(list(at))
        written = self._admin.end_offsets(list(at), committed=False)
        return {part: end for part, end in visible.items() if end <= at[part] < written[part]}

    def _check_ends(
        self, start: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> None:
        """Raise if a topic ends before the position. It was created again, or has lost records."""
        for (topic, number), at in start.items():
            if ends[topic, number] < at:
                raise StreamsError(
                    "offset-out-of-range",
                    f"topic {topic!r} partition {number} ends at {ends[topic, number]}, before the"
                    f" committed offset {at}: it was created again or lost records",
                    fix="auto.offset.reset says where to continue",
                )

    def _capped(
        self, start: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        most = int(self.most_records / self._density)
        if not self._inputs.has_joined:
            return cap(start, ends, most)

        def offsets_at(time_ms: int) -> dict[TopicPartition, int]:
            found = self._admin.offsets_at(start, time_ms)
            # The offset may be before the start, because of late records, or -1, if no record has
            # that time yet.
            return {
                part: ends[part] if at < 0 else min(max(at, start[part]), ends[part])
                for part, at in found.items()
            }

        return cap_by_time(start, ends, most, offsets_at)

    def _ends(self, parts: list[TopicPartition]) -> dict[TopicPartition, int]:
        if not parts:
            return {}
        return self._admin.end_offsets(parts, committed=self._inputs.read_committed)


def unfinished(
    state: LogState,
    position: Mapping[TopicPartition, int],
    there: Mapping[TopicPartition, int] | None = None,
) -> BatchPlan | None:
    """Return the batch that the last leader left, over the partitions that are still read.

    Tasks that have committed their part are beyond the planned start, and do not run again.

    Args:
        there: where the partitions end now. Records that a topic has lost since are not waited for.
    """
    plan = state.plan
    if plan is None or not state.has_unfinished:
        return None
    planned = {part: plan.end.get(part, at) for part, at in position.items()}
    if there is not None:
        planned = {part: min(end, there[part]) for part, end in planned.items()}
    ends = {part: max(planned[part], at) for part, at in position.items()}
    return replace(plan, start=position, end=ends)


def _within(
    read: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return how far global topics were read: 0 for a topic that was created again since."""
    return {part: at if at <= ends.get(part, 0) else 0 for part, at in read.items()}


def cap(
    start: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: int
) -> dict[TopicPartition, int]:
    """Return the ends of a batch of at most so many records, with a share of each partition."""
    waiting = {part: max(ends[part] - at, 0) for part, at in start.items()}
    total = sum(waiting.values())
    if total <= most:
        return {part: at + waiting[part] for part, at in start.items()}
    share = most / total
    return {part: at + int(waiting[part] * share + 0.999) for part, at in start.items()}


def cap_by_time(
    start: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    most: int,
    offsets_at: Callable[[int], Mapping[TopicPartition, int]],
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
    while late - early > 1 and _distance(start, before) < most * _FULL:
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


def _distance(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> int:
    return sum(max(end[part] - at, 0) for part, at in start.items())
