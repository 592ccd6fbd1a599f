"""One lane, step by step: what it asks its slot, and what it does about failures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import PenstockError, StreamsError
from penstock.runtime.spark.driver.lanes import lane as module
from penstock.runtime.spark.driver.lanes.gate import Turn
from penstock.runtime.spark.exchange.stage_request import Report, StageRequest
from tests.unit.runtime.lanes.lane_world import (
    LIMITS,
    TASK_TIMEOUT_S,
    Clock,
    World,
    scheduled,
    two_stages,
    with_table,
)

ZERO, ONE, TWO = ("in", 0), ("in", 1), ("in", 2)
WORDS = "words-repartition"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


class Broken:
    """Slots in which the function of some partitions fails, or that fail a number of times."""

    def __init__(self, world: World, *partitions: int) -> None:
        self.partitions = set(partitions)
        self.failures: list[PenstockError] = []
        self._world = world
        world.answer = self

    def __call__(self, slot: int, request: StageRequest) -> list[Report]:
        if self.failures:
            raise self.failures.pop(0)
        input_of = {n for (_, n), (start, end) in request.ranges.items() if start < end}
        if self.partitions & input_of:
            raise StreamsError("processing", f"node 'map' failed for {sorted(input_of)}")
        return self._world.processed(slot, request)


def ranges(requests: list[StageRequest]) -> list[dict[Any, Any]]:
    return [dict(request.ranges) for request in requests]


# Batches


def test_a_lane_reads_what_is_new_in_the_partitions_of_its_tasks() -> None:
    """Each batch begins where the last one has ended, and has a larger number."""
    world = World(partitions=4, slots=2)
    world.quiet()
    world.send(in_0=3, in_1=5, in_3=4)
    (first,) = world.step(1)
    world.send(in_3=2)
    (second,) = world.step(1)
    assert first.ranges == {("in", 1): (0, 5), ("in", 3): (0, 4)}
    assert second.ranges == {("in", 1): (5, 5), ("in", 3): (4, 6)}
    assert (first.slots, first.stage, first.group) == (2, 0, b"member")
    assert first.batch < second.batch
    assert world.positions == {ZERO: 0, ONE: 5, TWO: 0, ("in", 3): 6}


def test_a_lane_that_is_behind_goes_on_at_once(clock: Clock) -> None:
    """Otherwise the next batch waits for its time, so that it is worth its overhead."""
    world = World(interval_s=30.0)
    world.quiet()
    world.send(in_0=12)
    assert ranges(world.step()) == [{ZERO: (0, 10)}]
    assert world.due_s() == 0.0
    assert ranges(world.step()) == [{ZERO: (10, 12)}]
    assert 0.0 < (world.due_s() or 0.0) <= 30.0


def test_lanes_with_input_commit_one_after_the_other(clock: Clock) -> None:
    """Two that commit at the same time wait for each other's broker; idle ones ask it together."""
    world = World(partitions=2, slots=2, interval_s=30.0)
    world.quiet()

    def apart_s() -> float:
        clock.now_s += 30.0
        for lane in (0, 1):
            world.step(lane)
        return (world.due_s(1) or 0.0) - (world.due_s(0) or 0.0)

    apart_s()
    assert apart_s() == 0.0
    world.send(in_0=1, in_1=1)
    apart_s()
    world.send(in_0=1, in_1=1)
    assert abs(apart_s()) == 15.0
    apart_s()
    assert apart_s() == 0.0


def test_lanes_that_send_to_each_other_begin_together(clock: Clock) -> None:
    """So that a batch contains what another lane has sent to it."""
    world = World(two_stages, partitions=2, slots=2, interval_s=30.0)
    world.quiet()
    for _ in range(3):
        world.send(in_0=1, in_1=1)
        clock.now_s += 30.0
        for lane in (0, 1):
            world.step(lane)
    assert world.due_s(0) == world.due_s(1)


def test_a_slot_that_has_stopped_early_is_asked_for_the_rest_at_once(clock: Clock) -> None:
    """It has reached a limit, and committed what it had."""
    world = World(interval_s=30.0)
    world.quiet()
    world.answer = lambda slot, request: [
        replace(report, positions={ZERO: 2}) for report in world.processed(slot, request)
    ]
    world.send(in_0=9)
    world.step()
    assert world.due_s() == 0.0
    assert ranges(world.step()) == [{ZERO: (2, 9)}]


def test_a_processor_that_asks_for_a_commit_gets_its_next_batch_at_once(clock: Clock) -> None:
    world = World(interval_s=30.0)
    world.answer = lambda slot, request: [
        replace(report, has_requested_commit=True) for report in world.processed(slot, request)
    ]
    world.step()
    assert (world.due_s() or 0.0) <= 0.0


def test_the_first_batch_needs_no_input_and_then_nothing_is_asked_without() -> None:
    """It makes the tasks: stores can be asked before, or without, a first record."""
    world = World()
    assert world.due_s() == 0.0
    (first,) = world.step()
    assert (first.is_first, first.ranges) == (True, {ZERO: (0, 0)})
    assert world.step() == []
    world.send(in_0=1)
    (second,) = world.step()
    assert not second.is_first


def test_a_slot_whose_thread_is_gone_creates_its_tasks_without_input() -> None:
    """Its state has to be there for whoever asks a store."""
    world = World()
    world.quiet()
    assert world.due_s() != 0.0
    world.lanes[0].renew()
    assert world.due_s() == 0.0
    (request,) = world.step()
    assert request.is_first
    assert world.step() == []


def test_a_thread_that_is_lost_while_a_batch_ends_is_not_forgotten() -> None:
    """The driver notices it in another thread, at any time."""
    world = World()

    def answer(slot: int, request: StageRequest) -> list[Report]:
        world.lanes[0].renew()
        return world.processed(slot, request)

    world.answer = answer
    world.step()
    assert world.due_s() == 0.0


def test_a_task_that_is_being_restored_is_asked_in_every_interval(clock: Clock) -> None:
    """Its input waits; the lane does not ask faster than usual for that."""
    world = World(interval_s=1.0)
    world.answer = lambda slot, request: [
        replace(report, positions={ZERO: 0}, is_waiting=True)
        for report in world.processed(slot, request)
    ]
    world.send(in_0=3)
    world.step()
    assert world.lanes[0].is_waiting
    assert 0.0 < (world.due_s() or 0.0) <= 1.0
    assert len(world.step()) == 1


def test_tasks_beside_one_that_is_being_restored_work_their_backlog_off(clock: Clock) -> None:
    """A restore takes minutes; the others do not wait for their time between batches."""
    world = World(partitions=2, interval_s=30.0)
    world.answer = lambda slot, request: [
        replace(each, positions={ONE: 0}, is_waiting=True) if ONE in each.positions else each
        for each in world.processed(slot, request)
    ]
    world.send(in_0=25, in_1=25)
    while world.positions[ZERO] < 25:
        assert world.due_s() == 0.0
        assert len(world.step()) == 1
    assert world.positions[ONE] == 0
    assert (world.due_s() or 0.0) > 0.0


def test_a_lane_that_has_drained_still_reads_its_sources_in_time(clock: Clock) -> None:
    """Its input is as old as before: others have brought it to a cut."""
    world = World(two_stages, interval_s=30.0)
    world.quiet()
    world.send(in_0=12)
    world.step()
    assert world.due_s() == 0.0
    for _ in range(2):
        world.written(0, 0, 5)
        world.internal.refresh(world.internal.written())
        world.step(turn=Turn.DRAIN)
        assert (world.due_s() or 0.0) <= 0.0
        world.step()
        assert (world.due_s() or 0.0) > 0.0
        clock.now_s += 30.0


def test_a_partition_that_is_away_is_left_out() -> None:
    """Kafka does not say where it ends."""
    world = World(partitions=2)
    world.quiet()
    world.send(in_0=3, in_1=4)
    world.away = {ZERO}
    assert ranges(world.step()) == [{ONE: (0, 4)}]
    world.away = set()
    assert ranges(world.step()) == [{ZERO: (0, 3), ONE: (4, 4)}]


def test_schedules_by_the_wall_clock_make_batches_without_input(clock: Clock) -> None:
    """Each is short enough for the next one to be on time."""
    world = World(scheduled, interval_s=1.0)
    world.quiet()
    for _ in range(2):
        (request,) = world.step()
        assert request.limits.seconds == 0.5
        assert 0.0 < (world.due_s() or 0.0) <= 1.0


def test_a_batch_is_no_longer_than_the_next_cut_allows() -> None:
    world = World(seconds_left=lambda: 0.25)
    (request,) = world.step()
    assert request.limits == (LIMITS.at_first().bytes, 0.25)


def test_a_paused_lane_begins_nothing() -> None:
    """Not even its first batch; what is on its way between tasks is another matter."""
    world = World()
    world.send(in_0=3)
    world.shared.is_paused.set()
    assert world.due_s() == math.inf
    world.shared.is_paused.clear()
    assert world.due_s() == 0.0


def test_a_lane_that_is_over_is_never_due() -> None:
    world = World()
    world.lanes[0].end()
    assert world.due_s() is None


# Stages


def test_each_stage_reads_what_the_one_before_has_written() -> None:
    world = World(two_stages, partitions=2)
    world.quiet()
    world.send(in_1=4)
    first, second = world.step()
    assert first.ranges == {ZERO: (0, 0), ONE: (0, 4)}
    assert second.ranges == {(WORDS, 0): (0, 0), (WORDS, 1): (0, 4)}
    assert (first.batch, first.stage, second.stage) == (second.batch, 0, 1)
    assert not world.internal.has_leftover()


def test_a_stage_without_input_is_left_out() -> None:
    """The records of other slots may wait in a repartition topic."""
    world = World(two_stages, partitions=2, slots=2)
    world.quiet()
    world.written(0, 1, 5)
    world.internal.refresh(world.internal.written())
    assert world.step(0) == []
    assert [request.stage for request in world.step(1)] == [1]


def test_a_lane_that_drains_reads_no_source() -> None:
    """So that nothing is on its way in the end."""
    world = World(two_stages)
    world.quiet()
    world.send(in_0=9)
    world.written(0, 0, 5)
    world.internal.refresh(world.internal.written())
    assert world.due_s(turn=Turn.DRAIN) == 0.0
    (request,) = world.step(turn=Turn.DRAIN)
    assert request.ranges == {(WORDS, 0): (0, 5)}
    assert world.due_s(turn=Turn.DRAIN) == math.inf


def test_what_failed_stages_have_written_is_asked_of_kafka() -> None:
    """A report from a marker does not say what the task has written."""
    world = World(two_stages)
    world.quiet()
    world.send(in_0=3)

    def answer(slot: int, request: StageRequest) -> list[Report]:
        reports = world.processed(slot, request)
        if request.stage == 0:
            return [replace(each, written={}, is_repeated=True) for each in reports]
        return reports

    world.answer = answer
    _, second = world.step()
    assert second.ranges == {(WORDS, 0): (0, 3)}


# Failures that pass


def test_a_failure_that_passes_runs_the_same_stage_again() -> None:
    """The open transaction is ended first, and the request says that it may have run before."""
    world = World(two_stages)
    world.quiet()
    world.send(in_0=3)
    slots = Broken(world)
    slots.failures = [StreamsError("worker-lost", "it is gone")] * 2
    for _ in range(2):
        world.step()
        assert world.lanes[0].is_unknown
    again = world.step()
    requests = [request for _, request in world.asked]
    assert {request.batch for request in requests} == {again[0].batch}
    assert [request.is_rerun for request in requests] == [False, True, True, False]
    assert [request.stage for request in requests] == [0, 0, 0, 1]
    assert world.fenced == [0, 0]
    assert world.positions == {ZERO: 3}
    assert (world.accounts.progress.reruns, world.lanes[0].trouble) == (2, None)


def test_a_batch_goes_on_in_the_stage_that_has_failed() -> None:
    """What the one before has committed does not run again; sources are read right afterwards."""
    world = World(two_stages, interval_s=30.0)
    world.quiet()
    world.send(in_0=3)
    slots = Broken(world)

    def answer(slot: int, request: StageRequest) -> list[Report]:
        if request.stage == 1 and not request.is_rerun:
            raise StreamsError("worker-lost", "it is gone")
        return slots(slot, request)

    world.answer = answer
    world.step()
    world.send(in_0=2)
    (again,) = world.step()
    assert (again.stage, again.is_rerun, again.ranges) == (1, True, {(WORDS, 0): (0, 3)})
    world.answer = slots
    assert world.due_s() == 0.0
    # The slot's thread is a new one, so its tasks of the first stage are created, too.
    first, *_ = world.step()
    assert (first.stage, first.is_first, first.ranges) == (0, True, {ZERO: (3, 5)})


def test_pauses_between_attempts_grow_up_to_ten_seconds(clock: Clock) -> None:
    world = World()
    slots, pauses = Broken(world), []
    for _ in range(16):
        slots.failures = [StreamsError("broker-away", "no answer")]
        world.step()
        pauses.append(world.due_s() or 0.0)
    assert pauses[:4] == pytest.approx([0.001, 0.002, 0.004, 0.008])
    assert pauses[-1] == 10.0
    assert world.due_s(turn=Turn.DRAIN) == math.inf


def test_a_batch_that_kafka_does_not_take_in_time_runs_again_with_less() -> None:
    """With a quota, a rerun of the same size would never be committed, however often it runs."""
    world = World()
    slots = Broken(world)
    slots.failures = [StreamsError("worker-lost", "its process is gone")]
    slots.failures += [StreamsError("broker-away", "not taken within 30 s")] * 11
    for _ in range(13):
        world.step()
    sizes = [request.limits.bytes for _, request in world.asked]
    first = LIMITS.at_first().bytes
    assert sizes[:3] == [first, first, first // 4]
    assert sizes[-1] == 64 * 1024
    world.send(in_0=1)
    (after,) = world.step()
    assert after.limits.bytes == 4 * 64 * 1024


LONG_S = TASK_TIMEOUT_S + 1.0


@pytest.mark.parametrize("first", ["worker-lost", "broker-away"])
def test_only_failures_that_last_are_given_up(clock: Clock, first: str) -> None:
    """A batch that took long before it failed, or that waited for Kafka, is not at its limit."""
    world = World()
    slots = Broken(world)
    codes = [first, "client-renewed"]

    def failing(slot: int, request: StageRequest) -> list[Report]:
        if codes and (first == "broker-away" or len(codes) == 2):
            clock.now_s += LONG_S
        if codes:
            raise StreamsError(codes.pop(0), "it is away")
        return slots(slot, request)

    world.answer = failing
    for _ in range(3):
        world.step()
    assert world.errors == []
    assert world.accounts.progress.reruns == 2
    assert not world.lanes[0].is_in_trouble


def test_a_failure_that_lasts_is_for_the_handler(clock: Clock) -> None:
    """Otherwise an application that cannot go on would look healthy for ever."""
    world = World()
    lost = StreamsError("worker-lost", "it is gone")

    def failing(slot: int, request: StageRequest) -> list[Report]:
        clock.now_s += LONG_S / 3
        raise lost

    world.answer = failing
    for _ in range(4):
        world.step()
    assert world.errors == [(0, lost)]
    assert (world.due_s(), world.accounts.progress.reruns) == (math.inf, 3)


def test_a_success_begins_the_time_of_the_next_failures_anew(clock: Clock) -> None:
    world = World()
    slots = Broken(world)
    for _ in range(5):
        slots.failures = [StreamsError("worker-lost", "it is gone")]
        world.step()
        world.step()
        clock.now_s += LONG_S / 3
    assert world.errors == []


def test_a_failure_while_the_application_closes_is_nobodys_business() -> None:
    """It was cancelled; the next driver finds out what is committed."""
    world = World()
    Broken(world).failures = [StreamsError("processing", "cancelled")]
    world.shared.closing.set()
    world.step()
    assert (world.errors, world.due_s()) == ([], math.inf)


def test_a_driver_that_is_no_member_any_more_asks_nothing() -> None:
    """Another one leads, and its slots must not be disturbed."""
    world = World()

    def check() -> None:
        raise StreamsError("fenced", "another driver leads")

    world.check = check  # type: ignore[method-assign]
    assert world.step() == []
    ((lane, error),) = world.errors
    assert (lane, error.code) == (0, "fenced")


# Failures of the program


def test_a_failure_of_the_users_program_waits_for_the_handler() -> None:
    """Running it again would only fail again."""
    world = World()
    wrong = StreamsError("processing", "node 'map' failed")
    Broken(world).failures = [wrong]
    world.step()
    assert world.errors == [(0, wrong)]
    assert (world.due_s(), world.fenced) == (math.inf, [])
    assert world.lanes[0].trouble == "node 'map' failed"


def test_an_unknown_error_of_the_driver_itself_is_explained() -> None:
    world = World()

    def wrong(slot: int, request: StageRequest) -> list[Report]:
        raise ZeroDivisionError("x")

    world.answer = wrong
    world.step()
    ((_, error),) = world.errors
    assert (error.code, type(error.__cause__)) == ("batch-failed", ZeroDivisionError)


def replaced(world: World) -> list[list[int]]:
    """Let the lane run while it is due; return the partitions of each batch.

    The handler answers each error with ``REPLACE_THREAD``. After an error, the batch that has
    failed is always asked for once more: nobody knows whether it was committed.
    """
    before = len(world.asked)
    while (world.due_s() or 0.0) <= 0.0:
        world.step()
        while world.errors:
            world.errors.pop()
            world.lanes[0].replaced()
    return [sorted(n for _, n in request.ranges) for _, request in world.asked[before:]]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_the_partition_whose_records_fail_is_found_and_the_others_go_on(
    clock: Clock, bad: int
) -> None:
    """Each one is tried alone; the one that fails waits, and its records stay where they are."""
    world = World(partitions=3)
    world.quiet()
    Broken(world, bad)
    world.send(in_0=3, in_1=3, in_2=3)
    clock.now_s += 0.125
    others = [n for n in range(3) if n != bad]
    assert replaced(world)[:4] == [[0, 1, 2], [0], [1], [2]]
    assert world.positions == {("in", n): 0 if n == bad else 3 for n in range(3)}
    world.send(in_0=1, in_1=1, in_2=1)
    clock.now_s += 0.125
    assert replaced(world) == [others]


def test_partitions_without_input_do_not_end_the_search(clock: Clock) -> None:
    """There is nothing to try with them, so they are well."""
    world = World(partitions=4)
    world.quiet()
    Broken(world, 3)
    world.send(in_1=3, in_3=3)
    clock.now_s += 0.125
    # The first one is part of the batch that failed; the third one has nothing to try.
    assert replaced(world) == [[0, 1, 2, 3], [0], [1], [3], [0, 1, 2]]
    world.send(in_0=1)
    clock.now_s += 0.125
    assert replaced(world) == [[0, 1, 2]]
    assert world.positions == {ZERO: 1, ONE: 3, TWO: 0, ("in", 3): 0}


def test_two_partitions_that_fail_are_both_set_aside(clock: Clock) -> None:
    """Also when their pauses end at the same time."""
    world = World(partitions=3)
    world.quiet()
    Broken(world, 0, 1)
    world.send(in_0=3, in_1=3, in_2=3)
    clock.now_s += 0.125
    replaced(world)
    assert world.positions == {ZERO: 0, ONE: 0, TWO: 3}
    for _ in range(3):
        clock.now_s += 15.0
        assert replaced(world)[:2] == [[0], [1]]


def test_pauses_of_a_partition_that_fails_again_grow(clock: Clock) -> None:
    world = World(partitions=2, interval_s=3_600.0)
    world.quiet()
    slots = Broken(world, 1)
    world.send(in_0=3, in_1=3)
    clock.now_s += 3_600.0
    replaced(world)
    pauses = []
    for _ in range(6):
        pauses.append(world.due_s() or 0.0)
        clock.now_s += pauses[-1]
        assert replaced(world) == [[1], [0]]
    assert pauses == pytest.approx([0.5, 1.0, 2.0, 5.0, 10.0, 10.0])
    assert "node 'map' failed" in (world.lanes[0].trouble or "")
    slots.partitions.clear()
    clock.now_s += 10.0
    assert replaced(world)[0] == [1]
    assert (world.positions, world.lanes[0].trouble) == ({ZERO: 3, ONE: 3}, None)
    world.send(in_0=1, in_1=1)
    clock.now_s += 3_600.0
    assert replaced(world) == [[0, 1]]


def test_a_lane_with_one_task_waits_before_it_tries_again(clock: Clock) -> None:
    world = World(interval_s=3_600.0)
    world.quiet()
    Broken(world, 0)
    world.send(in_0=3)
    clock.now_s += 3_600.0
    assert replaced(world) == [[0], []]
    assert world.due_s() == pytest.approx(0.5)


def test_an_error_that_is_over_already_sets_nothing_aside() -> None:
    """The handler may need long for its answer."""
    world = World(partitions=2)
    world.quiet()
    world.lanes[0].replaced()
    world.send(in_0=1, in_1=1)
    assert ranges(world.step()) == [{ZERO: (0, 1), ONE: (0, 1)}]


def test_a_task_that_is_set_aside_has_no_leftover() -> None:
    """Nobody waits for it to drain: it does not run now."""
    world = World(two_stages, partitions=2)
    world.quiet()
    for number in range(2):
        world.written(0, number, 5)
    world.internal.refresh(world.internal.written())
    world.lanes[0]._set_aside(1, "it fails")
    world.step(turn=Turn.DRAIN)
    assert world.internal.has_leftover()
    assert not world.lanes[0].has_leftover()


def test_a_partition_that_is_tried_again_puts_off_no_other(clock: Clock) -> None:
    """Not by the time between batches, which may be long."""
    world = World(partitions=2, interval_s=30.0)
    world.quiet()
    Broken(world, 1)
    world.send(in_0=1, in_1=1)
    clock.now_s += 30.0
    replaced(world)
    world.send(in_0=25)
    clock.now_s += 30.0
    assert replaced(world) == [[1], [0], [0], [0]]
    assert world.positions == {ZERO: 26, ONE: 0}


# Stuck partitions


def test_a_task_whose_records_do_not_come_is_set_aside(clock: Clock) -> None:
    """It would hold up every batch of its slot; it is tried alone until records come."""
    world = World(partitions=2, interval_s=3_600.0)
    world.quiet()
    stuck: list[Any] = [ONE]

    def answer(slot: int, request: StageRequest) -> list[Report]:
        found = world.processed(slot, request)
        return [
            replace(each, positions={ONE: 0}, stuck=frozenset(stuck))
            if stuck and ONE in each.positions else each
            for each in found
        ]  # fmt: skip

    world.answer = answer
    world.send(in_0=3, in_1=3)
    clock.now_s += 3_600.0
    assert replaced(world) == [[0, 1]]
    for _ in range(9):
        clock.now_s += world.due_s() or 0.0
        assert replaced(world) == [[1]]
    assert "no records come from 'in' partition 1" in (world.lanes[0].trouble or "")
    stuck.clear()
    clock.now_s += world.due_s() or 0.0
    assert replaced(world)[0] == [1]
    assert (world.positions, world.lanes[0].trouble) == ({ZERO: 3, ONE: 3}, None)


# Global tables


def test_a_global_table_alone_makes_a_batch() -> None:
    """Queries see it as of the newest batch; letters before its start are written already."""
    world = World(with_table)
    world.quiet()
    world.send(prices_0=2)
    world.send(prices_0=1)
    (first,) = world.step()
    assert (first.global_start, first.global_ends) == ({("prices", 0): 0}, {("prices", 0): 3})
    assert world.step() == []
    world.send(prices_0=4)
    (second,) = world.step()
    assert (second.global_start, second.global_ends) == ({("prices", 0): 3}, {("prices", 0): 7})


def test_letters_of_an_earlier_run_are_not_written_again() -> None:
    world = World(with_table)
    world.lanes[0].begin_tables({("prices", 0): 2})
    world.send(prices_0=5)
    (request,) = world.step()
    assert (request.global_start, request.global_ends) == ({("prices", 0): 2}, {("prices", 0): 5})


def test_a_batch_that_runs_again_leaves_new_global_records_to_the_next_one() -> None:
    """Its slot may have answered already, with fewer of them."""
    world = World(with_table)
    world.quiet()
    slots = Broken(world)
    slots.failures = [StreamsError("worker-lost", "it is gone")]
    world.send(prices_0=2)
    world.step()
    world.send(prices_0=1)
    world.step()
    (after,) = world.step()
    assert (after.global_start, after.global_ends) == ({("prices", 0): 0}, {("prices", 0): 3})
    assert world.step() == []


def test_a_slot_without_tasks_keeps_its_copy_of_global_tables() -> None:
    """It may get tasks, or a question, at any time."""
    world = World(with_table, slots=2)
    world.quiet()
    world.send(prices_0=2, in_0=4)
    (request,) = world.step(1)
    assert (request.ranges, request.global_ends) == ({}, {("prices", 0): 2})
    assert world.step(1) == []


# At least once


def test_without_transactions_the_driver_commits_the_offsets() -> None:
    """Under the names that the topics have in Kafka, and after the slot has answered."""
    world = World(two_stages, exactly_once=False)
    world.quiet()
    world.committed.clear()
    world.send(in_0=3)
    world.step()
    assert world.committed == [{ZERO: 3}, {(f"app-{WORDS}", 0): 3}]


def test_offsets_that_cannot_be_committed_let_the_stage_run_again() -> None:
    """The slot answers from its memory; records are not processed twice for this."""
    world = World(exactly_once=False)
    world.quiet()
    world.send(in_0=3)
    world.refusal = StreamsError("broker-away", "no answer")
    world.step()
    assert (world.positions, world.lanes[0].is_unknown) == ({ZERO: 0}, True)
    world.refusal = None
    (again,) = world.step()
    assert again.is_rerun
    assert world.positions == {ZERO: 3}


# Getting ready


def warmed(world: World) -> list[StageRequest]:
    world.lanes[0]._warm_up()
    return [request for _, request in world.warmed]


def test_a_slot_gets_ready_before_there_is_input() -> None:
    """Where its tasks are is certain; how far they read is not."""
    world = World(with_table)
    world.positions[ZERO] = 4
    world.send(in_0=9, prices_0=6)
    (request,) = warmed(world)
    assert (request.ranges, request.global_ends) == ({ZERO: (4, 4)}, {("prices", 0): 6})
    assert request.is_rerun
    assert world.lanes[0].has_begun
    assert not world.lanes[0].has_run


def test_where_the_wall_clock_matters_nothing_is_made_before_the_batch() -> None:
    """A processor that schedules something must see the time of its batch."""
    assert warmed(World(scheduled)) == []


def test_a_slot_that_cannot_get_ready_is_tried_again_with_a_batch(clock: Clock) -> None:
    world = World()

    def away(slot: int, request: StageRequest) -> None:
        raise StreamsError("broker-away", "no answer")

    world.warm_up = away  # type: ignore[method-assign]
    assert warmed(world) == []
    assert not world.lanes[0].has_begun
    assert world.lanes[0].trouble == "no answer"
    clock.now_s += world.due_s() or 0.0
    assert len(world.step()) == 1
    assert world.lanes[0].trouble is None


# The thread


def test_a_lane_ends_with_the_gate_and_says_what_it_has_committed() -> None:
    world = World()
    with world.running():
        world.wait_for(lambda: len(world.turns) > 0)
    assert world.turns[0]


@pytest.mark.parametrize("wrong", [SystemExit(3), KeyError("in")])
def test_a_thread_that_ends_by_itself_is_no_matter_of_one_lane(wrong: BaseException) -> None:
    """Nobody would run the lane any more, whatever a handler answers."""
    world = World()

    def committed(is_new: bool) -> None:
        raise wrong

    shared: Callable[..., Any] = replace
    world.lanes[0]._shared = shared(world.shared, committed=committed)
    world.lanes[0].run()
    ((lane, error),) = world.errors
    assert (lane, error.code) == (None, "batch-failed")
