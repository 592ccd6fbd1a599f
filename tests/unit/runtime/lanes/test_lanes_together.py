"""Lanes in threads of their own: what goes wrong in one of them does not hold up the others.

Exercises ``lanes.lane`` over ``lanes.gate``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.lanes import gate as gate_module
from penstock.runtime.spark.driver.lanes.cuts import Cuts
from penstock.runtime.spark.exchange.batch_log import Cut, LogState
from penstock.runtime.spark.exchange.stage_request import Report, StageRequest
from tests.unit.runtime.lanes.lane_world import LIMITS, World, two_stages

WORDS = "words-repartition"
LONG_S = 30.0


def is_done(world: World, *partitions: int) -> Callable[[], bool]:
    """Tell whether all records of these partitions are processed, in all stages."""
    return lambda: (
        all(world.positions["in", n] == world.cluster.ends.get(("in", n), 0) for n in partitions)
        and not world.internal.has_leftover(partitions)
    )


class Slow:
    """The slot of one lane does not answer until a test lets it."""

    def __init__(self, world: World, lane: int) -> None:
        self.is_asked, self.may_answer = threading.Event(), threading.Event()
        self._world, self._lane = world, lane
        world.answer = self

    def __call__(self, slot: int, request: StageRequest) -> list[Report]:
        if slot == self._lane:
            self.is_asked.set()
            assert self.may_answer.wait(LONG_S)
        return self._world.processed(slot, request)


def test_a_slow_slot_holds_up_no_other() -> None:
    """Its function takes minutes for a record, or its thread hangs."""
    world = World(partitions=6, slots=3)
    slow = Slow(world, 1)
    world.send(**{f"in_{n}": 3 for n in range(6)})
    with world.running():
        assert slow.is_asked.wait(LONG_S)
        for _ in range(5):
            world.wait_for(is_done(world, 0, 2, 3, 5))
            world.send(in_0=2, in_2=3, in_3=4, in_5=12)
        world.wait_for(is_done(world, 0, 2, 3, 5))
        assert (world.positions["in", 1], world.positions["in", 4]) == (0, 0)
        slow.may_answer.set()
        world.wait_for(is_done(world, 1, 4))


def test_a_slow_slot_holds_up_others_in_later_stages_only_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They wait for what it may send; but not for ever."""
    monkeypatch.setattr(gate_module, "_PATIENCE_S", 0.005)
    world = World(two_stages, partitions=3, slots=3)
    slow = Slow(world, 1)
    world.send(in_0=3, in_1=3, in_2=3)
    with world.running():
        assert slow.is_asked.wait(LONG_S)
        for _ in range(3):
            world.wait_for(is_done(world, 0, 2))
            world.send(in_0=2, in_2=3)
        world.wait_for(is_done(world, 0, 2))
        slow.may_answer.set()
        world.wait_for(is_done(world, 0, 1, 2))


@pytest.mark.parametrize("code", ["worker-lost", "broker-away", "processing"])
def test_a_slot_that_fails_for_ever_holds_up_no_other(code: str) -> None:
    """Whether it is tried again, or its handler has not answered yet."""
    world = World(partitions=3, slots=3)

    def failing(slot: int, request: StageRequest) -> list[Report]:
        if slot == 1:
            raise StreamsError(code, "not today")
        return world.processed(slot, request)

    world.answer = failing
    world.send(in_0=3, in_1=3, in_2=3)
    with world.running():
        for _ in range(5):
            world.wait_for(is_done(world, 0, 2))
            world.send(in_0=2, in_2=3)
        world.wait_for(is_done(world, 0, 2))
        assert world.positions["in", 1] == 0
        assert [lane for lane, _ in world.errors] == ([1] if code == "processing" else [])
        if code != "processing":
            world.answer = world.processed
            world.wait_for(is_done(world, 1))


def test_a_slot_that_waits_for_its_thread_holds_up_no_other() -> None:
    """Spark may have no room for it: it waits in the question itself, also to get ready."""
    world = World(partitions=2, slots=2)
    is_asked, has_room = threading.Event(), threading.Event()

    def warm_up(slot: int, request: StageRequest) -> None:
        if slot == 0:
            is_asked.set()
            assert has_room.wait(LONG_S)

    world.warm_up = warm_up  # type: ignore[method-assign]
    world.send(in_0=3, in_1=3)
    with world.running():
        assert is_asked.wait(LONG_S)
        world.wait_for(is_done(world, 1))
        assert world.positions["in", 0] == 0
        has_room.set()
        world.wait_for(is_done(world, 0))


def test_a_lane_with_a_task_that_fails_and_others_that_do_not_works_on() -> None:
    """The handler answers ``REPLACE_THREAD`` each time, as in a program that must not end."""
    world = World(partitions=4, slots=2)

    def failing(slot: int, request: StageRequest) -> list[Report]:
        start, end = request.ranges.get(("in", 2), (0, 0))
        if start < end:
            raise StreamsError("processing", "node 'map' failed")
        return world.processed(slot, request)

    def replace_thread(lane: int | None, error: Exception) -> None:
        assert lane == 0
        world.lanes[0].replaced()

    world.answer = failing
    object.__setattr__(world.shared, "report", replace_thread)
    world.send(in_0=3, in_1=3, in_2=3, in_3=3)
    with world.running():
        for _ in range(5):
            world.wait_for(is_done(world, 0, 1, 3))
            world.send(in_0=2, in_1=3, in_3=4)
        world.wait_for(is_done(world, 0, 1, 3))
    assert world.positions["in", 2] == 0


def test_what_a_lane_sends_is_processed_by_others_at_once() -> None:
    """They do not wait for their own input, or for the time between batches."""
    world = World(two_stages, partitions=2, slots=2, interval_s=3_600.0)

    def to_the_other(stage: int, number: int, records: int) -> dict[tuple[str, int], int]:
        return written(stage, 1 - number, records)

    written, world.written = world.written, to_the_other  # type: ignore[method-assign]
    world.send(in_0=3)
    with world.running():
        world.wait_for(
            lambda: any(each.ranges.get((WORDS, 1)) == (0, 3) for _, each in world.asked)
        )
        world.wait_for(is_done(world, 0, 1))


def test_lanes_that_begin_together_read_what_all_of_them_have_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a slower one's records would come after newer ones of a faster one."""
    monkeypatch.setattr(gate_module, "_PATIENCE_S", LONG_S)
    world = World(two_stages, partitions=3, slots=3)
    world.quiet()
    together = threading.Barrier(3)

    def answer(slot: int, request: StageRequest) -> list[Report]:
        if request.stage == 0:
            together.wait(LONG_S)
        return world.processed(slot, request)

    def to_the_first(stage: int, number: int, records: int) -> dict[tuple[str, int], int]:
        return written(stage, 0, records)

    written, world.written = world.written, to_the_first  # type: ignore[method-assign]
    world.answer = answer
    world.send(in_0=1, in_1=2, in_2=3)
    with world.running():
        world.wait_for(is_done(world, 0, 1, 2))
    reads = [each.ranges[WORDS, 0] for _, each in world.asked if (WORDS, 0) in each.ranges]
    assert reads == [(0, 6)]


class Log:
    def __init__(self) -> None:
        self.state = LogState()
        self.cuts: list[Cut] = []

    def note_cut(self, cut: Cut) -> None:
        self.cuts.append(cut)


@pytest.mark.parametrize("slots", [1, 3])
def test_every_cut_of_a_backlog_has_downstream_all_that_upstream_has_sent(slots: int) -> None:
    """Each record of the source makes one of the repartition topic here."""
    world = World(two_stages, partitions=3, slots=slots)
    log = Log()
    cuts = Cuts(log, world.accounts, world.gate, is_chained=True)  # type: ignore[arg-type]
    cuts.is_under_way = lambda: (
        any(lane.is_unknown for lane in world.lanes) or world.internal.has_leftover()
    )
    object.__setattr__(world.shared, "committed", cuts.committed)
    read: list[tuple[int, int]] = []

    def taken(cut: Cut) -> None:
        sent = sum(world.internal._positions[WORDS, n] for n in range(3))
        read.append((sum(cut.positions.values()), sent))

    cuts.taken = taken
    world.send(in_0=90, in_1=60, in_2=120)
    with world.running():
        deadline = time.monotonic() + LONG_S
        while read[-1:] != [(270, 270)] and time.monotonic() < deadline:
            cuts._bring()
    assert read[-1] == (270, 270)
    assert all(source == words for source, words in read)
    numbers = [cut.batch for cut in log.cuts]
    assert numbers == list(range(len(numbers)))


def test_limits_of_one_lane_are_not_those_of_others() -> None:
    """Only one of them writes to a broker with a quota."""
    world = World(partitions=2, slots=2)
    failures = [StreamsError("write-failed", "too slow")] * 2

    def answer(slot: int, request: StageRequest) -> list[Report]:
        if slot == 0 and failures:
            raise failures.pop()
        return world.processed(slot, request)

    world.answer = answer
    world.send(in_0=3, in_1=3)
    with world.running():
        world.wait_for(is_done(world, 0, 1))
    sizes = {slot: [e.limits.bytes for n, e in world.asked if n == slot] for slot in (0, 1)}
    first = LIMITS.at_first().bytes
    assert min(sizes[0]) == first // 16
    assert min(sizes[1]) == first
