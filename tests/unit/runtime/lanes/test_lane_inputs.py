"""What a batch of a lane takes from each partition."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.lanes.lane_inputs import (
    InputSettings,
    LaneInputs,
    Planned,
    cap,
    cap_by_time,
    within,
)

parts = st.tuples(st.sampled_from("ab"), st.integers(0, 3))
offsets = st.dictionaries(parts, st.integers(0, 1_000), min_size=1)
IN = ("in", 0)


# The share of each partition


def test_all_is_taken_while_it_fits() -> None:
    """Up to the end of every partition."""
    start, ends = {("t", 0): 5, ("t", 1): 0}, {("t", 0): 7, ("t", 1): 8}
    assert cap(start, ends, 10) == ends


def test_a_large_backlog_is_shared_fairly() -> None:
    """Each partition gives in proportion to what waits there."""
    start, ends = {("t", 0): 0, ("t", 1): 0}, {("t", 0): 900, ("t", 1): 100}
    assert cap(start, ends, 100) == {("t", 0): 90, ("t", 1): 10}


def test_a_topic_that_was_made_anew_does_not_move_backwards() -> None:
    """Its end may be before the position; nothing is there to read."""
    assert cap({("t", 0): 9}, {("t", 0): 2}, 5) == {("t", 0): 9}


@given(offsets, st.integers(1, 50), st.data())
def test_every_batch_moves_on_and_never_past_the_end(
    start: dict[TopicPartition, int], most: int, data: st.DataObject
) -> None:
    """So that a backlog is worked off, however small batches are."""
    ends = {part: at + data.draw(st.integers(0, 200)) for part, at in start.items()}
    capped = cap(start, ends, most)
    assert all(start[part] <= at <= ends[part] for part, at in capped.items())
    assert (capped == start) == (ends == start)
    assert sum(capped.values()) - sum(start.values()) <= most + len(start)


times = st.lists(st.integers(0, 30), max_size=40)


@given(st.dictionaries(parts, times, min_size=1), st.integers(1, 20))
def test_joined_topics_are_read_in_order_of_time_over_batches(
    records: dict[TopicPartition, list[int]], most: int
) -> None:
    """No batch takes a record while an older one of another topic is left for a later batch."""
    topics = {part: sorted(each) for part, each in records.items()}
    ends = {part: len(each) for part, each in topics.items()}

    def offsets_at(time_ms: int) -> dict[TopicPartition, int]:
        found = {p: sum(at < time_ms for at in each) for p, each in topics.items()}
        return {part: max(at, start[part]) for part, at in found.items()}

    start = dict.fromkeys(topics, 0)
    while start != ends:
        capped = cap_by_time(start, ends, most, offsets_at)
        taken = [at for p, each in topics.items() for at in each[start[p] : capped[p]]]
        left = [at for p, each in topics.items() for at in each[capped[p] :]]
        assert len(taken) >= 1
        assert max(taken) <= min(left, default=99)
        start = capped


@pytest.mark.parametrize("latest_ms", [1_700_000_000_000, 1_700_000_000_000_000])
def test_times_in_other_units_are_in_order_too(latest_ms: int) -> None:
    """A producer may have written microseconds."""
    times = [latest_ms - 10 + n for n in range(10)]
    start, ends = {("a", 0): 0, ("b", 0): 0}, {("a", 0): 10, ("b", 0): 10}

    def offsets_at(time_ms: int) -> dict[TopicPartition, int]:
        return dict.fromkeys(start, sum(at < time_ms for at in times))

    assert cap_by_time(start, ends, 8, offsets_at) == {("a", 0): 4, ("b", 0): 4}


def test_a_global_topic_that_was_made_anew_is_read_from_its_beginning() -> None:
    """It ends before the offset that was read."""
    read, ends = {("a", 0): 5, ("b", 0): 5, ("c", 0): 5}, {("a", 0): 5, ("b", 0): 4}
    assert within(read, ends) == {("a", 0): 5, ("b", 0): 0, ("c", 0): 0}


# Planning


class Offsets:
    """Topics of one partition, by their ends; open transactions hide the rest."""

    def __init__(self, *, hidden: int = 0, **ends: int) -> None:
        self.ends = {(topic, 0): end for topic, end in ends.items()}
        self.hidden = hidden
        self.times: dict[int, dict[TopicPartition, int]] = {}

    def end_offsets(
        self, parts: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        return {part: self.ends[part] - (self.hidden if committed else 0) for part in parts}

    def offsets_at(
        self, partitions: Iterable[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]:
        return {part: min(time_ms, self.ends[part]) for part in partitions}


def inputs(
    offsets: Offsets | None = None,
    tasks: list[tuple[TopicPartition, ...]] | None = None,
    **settings: Any,
) -> LaneInputs:
    given: dict[str, Any] = {"max_records": 10, "read_committed": True, **settings}
    return LaneInputs(tasks or [(IN,)], InputSettings(**given), offsets or Offsets())


def plan(
    made: LaneInputs, start: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> Planned:
    return made.plan(start, ends, {("prices", 0): 3})


def test_a_batch_begins_where_the_tasks_are_and_takes_no_more_than_it_should() -> None:
    made = inputs()
    first = plan(made, {IN: 3}, {IN: 15})
    assert first.ranges == {IN: (3, 13)}
    assert (first.has_input, first.behind, first.tables) == (True, {IN}, {("prices", 0): 3})
    last = plan(made, {IN: 13}, {IN: 15})
    assert (last.ranges, last.behind) == ({IN: (13, 15)}, frozenset())
    assert not plan(made, {IN: 15}, {IN: 15}).has_input


def test_a_partition_whose_end_is_not_known_is_not_read_now() -> None:
    """Its broker is away; the others go on."""
    other = ("in", 2)
    made = inputs(tasks=[(IN,), (other,)])
    assert plan(made, {IN: 3, other: 4}, {other: 6}).ranges == {IN: (3, 3), other: (4, 6)}


def test_a_lane_reads_the_partitions_of_the_tasks_that_take_part() -> None:
    """Others are set aside."""
    tasks = [(("a", 0), ("b", 0)), (("a", 2), ("b", 2))]
    assert inputs(tasks=tasks).parts({2}) == [("a", 2), ("b", 2)]


@pytest.mark.parametrize(("ahead_ms", "stays"), [(5_000, True), (7_200_000, False)])
def test_a_clock_that_was_far_ahead_does_not_stay_so(ahead_ms: int, *, stays: bool) -> None:
    """Results of punctuations would be refused as too far in the future, for two hours."""
    made = inputs()
    wrong_ms = made._clock_ms = time.time_ns() // 1_000_000 + ahead_ms
    assert (plan(made, {IN: 3}, {IN: 3}).clock_ms == wrong_ms) == stays


def test_a_topic_that_ends_before_the_position_is_an_error() -> None:
    """A topic that was made anew must not look like one without new records."""
    made = inputs(Offsets(**{"in": 2}))
    with pytest.raises(StreamsError, match="ends at 2, before the committed offset 3") as raised:
        plan(made, {IN: 3}, {IN: 2})
    assert raised.value.code == "offset-out-of-range"


def test_a_position_behind_an_open_transaction_waits_there() -> None:
    """The application has read uncommitted records before; none was lost."""
    made = inputs(Offsets(**{"in": 5}, hidden=4))
    assert plan(made, {IN: 3}, {IN: 1}).ranges == {IN: (3, 3)}


def test_a_task_that_joins_two_topics_takes_the_oldest_records_first() -> None:
    """The time of a record is its offset here."""
    joined = (("a", 0), ("b", 0))
    made = inputs(Offsets(a=40, b=40), [joined], max_records=20)
    planned = plan(made, {("a", 0): 0, ("b", 0): 4}, {("a", 0): 40, ("b", 0): 40})
    assert planned.ranges == {("a", 0): (0, 12), ("b", 0): (4, 12)}
    assert planned.behind == set(joined)


def test_an_input_waits_for_an_empty_one_as_long_as_the_user_wants() -> None:
    """``max.task.idle.ms``: the next record of the other topic may be the older one."""
    joined = (("a", 0), ("b", 0))
    start, ends = dict.fromkeys(joined, 0), {("a", 0): 4, ("b", 0): 0}
    waiting = plan(inputs(tasks=[joined], max_idle_ms=60_000), start, ends)
    assert (waiting.has_input, waiting.behind) == (False, frozenset())
    assert plan(inputs(tasks=[joined], max_idle_ms=0), start, ends).has_input
