"""Cuts of all stores: taken where the lanes are at one, and brought about in a backlog."""

from __future__ import annotations

import math
import threading
from typing import Any, cast

import pytest

from penstock.runtime.spark.driver.lanes import cuts as module
from penstock.runtime.spark.driver.lanes.cuts import Cuts
from penstock.runtime.spark.driver.lanes.gate import Turn
from penstock.runtime.spark.exchange.batch_log import Cut, LogState
from penstock.runtime.spark.exchange.stage_request import Report
from tests.unit.runtime.lanes.lane_world import Clock, World

BEFORE = Cut(2, 40, {("changelog", 0): 9}, {}, {("in", 0): 7})


class Log:
    def __init__(self, cut: Cut | None) -> None:
        self.state = LogState(cut=cut)
        self.cuts: list[Cut] = []

    def note_cut(self, cut: Cut) -> None:
        self.cuts.append(cut)


class Driver:
    """Cuts over the lanes of a world; lanes are inside a batch if a test says so."""

    def __init__(
        self,
        *,
        is_chained: bool,
        before: Cut | None = None,
        sinks: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.world = World(partitions=2, slots=2)
        self.log = Log(before)
        self.log.state.sinks = sinks or {}
        self.gate = self.world.gate
        self.cuts = Cuts(
            cast("Any", self.log), self.world.accounts, self.gate, is_chained=is_chained
        )
        self.is_under_way = False
        self.cuts.is_under_way = lambda: self.is_under_way

    def begin(self, lane: int) -> None:
        assert self.gate.wait_turn(lane, lambda turn: 0.0) is Turn.ANY

    def end(self, lane: int, at: int, *, is_new: bool = True) -> None:
        """Let a lane commit up to an offset, and end its turn."""
        part = ("in", lane)
        report: Any = Report(task=cast("Any", lane), stage=0, slot=lane, positions={part: at})
        self.world.accounts.note_stage([report])
        self.gate.end_turn(lane)
        self.cuts.committed(is_new)

    @property
    def positions(self) -> list[tuple[int, int]]:
        return [(cut.positions["in", 0], cut.positions["in", 1]) for cut in self.log.cuts]

    @property
    def numbers(self) -> list[int]:
        return [cut.batch for cut in self.log.cuts]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    return made


def test_without_repartition_topics_every_commit_is_a_cut(clock: Clock) -> None:
    """Whatever other lanes are doing: tasks have nothing to do with each other."""
    driver = Driver(is_chained=False)
    driver.begin(1)
    for at in (3, 5):
        clock.now_s += 1.0
        driver.begin(0)
        driver.end(0, at)
    assert driver.positions == [(3, 0), (5, 0)]
    assert driver.cuts.seconds_left() == math.inf


def test_commits_right_after_a_cut_are_part_of_the_next_one(clock: Clock) -> None:
    """Each cut is a record in the batch log."""
    driver = Driver(is_chained=False)
    for at in range(1, 6):
        clock.now_s += 0.008
        driver.end(0, at)
    assert driver.positions == [(3, 0)]
    clock.now_s += 1.0
    driver.cuts.look()
    assert driver.positions == [(3, 0), (5, 0)]


def test_what_no_cut_contains_is_news(clock: Clock) -> None:
    """Already before the lane has ended its turn: an application with news is not idle."""
    driver = Driver(is_chained=True)
    assert not driver.cuts.has_news
    driver.begin(1)
    driver.end(0, 8)
    assert driver.cuts.has_news
    clock.now_s += 1.0
    driver.end(1, 3, is_new=False)
    assert not driver.cuts.has_news


def test_what_was_read_after_a_cut_may_still_be_on_its_way(clock: Clock) -> None:
    """A store behind a repartition topic contains what the newest cut contains, and no more."""
    driver = Driver(is_chained=True, before=BEFORE)
    driver.end(0, 8)
    assert driver.cuts.contained() == {("in", 0): 7}
    driver.cuts.take()
    assert driver.cuts.contained() == {("in", 0): 8}
    driver.is_under_way = True
    driver.end(0, 9)
    assert driver.cuts.contained() == {("in", 0): 8}


def test_nothing_new_makes_no_cut(clock: Clock) -> None:
    driver = Driver(is_chained=False)
    for _ in range(3):
        clock.now_s += 1.0
        driver.end(0, 0, is_new=False)
        driver.cuts.look()
    assert driver.log.cuts == []


def test_with_repartition_topics_a_cut_is_where_no_lane_is_inside_a_batch(clock: Clock) -> None:
    """Otherwise downstream stores would not have what upstream has sent."""
    driver = Driver(is_chained=True)
    clock.now_s += 1.0
    driver.begin(0)
    driver.begin(1)
    driver.end(0, 3)
    assert driver.log.cuts == []
    driver.end(1, 4)
    assert driver.positions == [(3, 4)]


def test_with_repartition_topics_a_cut_has_nothing_on_its_way(clock: Clock) -> None:
    """Records in them, or a stage that may be committed, or not."""
    driver = Driver(is_chained=True)
    clock.now_s += 0.5
    driver.is_under_way = True
    driver.end(0, 3)
    driver.cuts.look()
    assert driver.log.cuts == []
    driver.is_under_way = False
    # The lane that has processed the rest has committed nothing new of its own.
    driver.end(1, 0, is_new=False)
    assert driver.positions == [(3, 0)]


def test_numbers_of_cuts_grow_also_over_restarts(clock: Clock) -> None:
    """Functions of to_spark know batches by them, and copies of stores the order."""
    driver = Driver(is_chained=False, before=BEFORE)
    assert driver.cuts.number() == -1
    clock.now_s += 1.0
    driver.end(0, 8)
    driver.cuts.take()
    clock.now_s += 1.0
    driver.end(0, 9)
    assert driver.numbers == [41, 42]
    assert (driver.cuts.number(), {cut.generation for cut in driver.log.cuts}) == (42, {3})


def test_a_number_that_a_function_knows_is_not_given_to_other_rows(clock: Clock) -> None:
    """The cut itself was lost: it is written without waiting, and the driver was killed."""
    driver = Driver(is_chained=False, before=BEFORE, sinks={"rows": {"batch": 57}})
    clock.now_s += 1.0
    driver.end(0, 8)
    assert driver.numbers == [58]


def test_the_first_cut_of_a_run_has_the_changelogs_of_the_last_one(clock: Clock) -> None:
    """Tasks that have not run yet are as far as they were."""
    driver = Driver(is_chained=False, before=BEFORE)
    driver.world.accounts._ends = dict(BEFORE.ends)
    cut = driver.cuts.take()
    assert cut.ends == {("changelog", 0): 9}


def test_a_cut_that_somebody_holds_is_not_taken_twice(clock: Clock) -> None:
    driver = Driver(is_chained=False)
    first = driver.cuts.take()
    assert driver.cuts.take() is first
    clock.now_s += 0.001
    driver.end(0, 4)
    assert driver.cuts.take().batch == first.batch + 1


def test_who_wants_to_know_is_told_of_each_cut(clock: Clock) -> None:
    driver = Driver(is_chained=False)
    told: list[Cut] = []
    driver.cuts.taken = told.append
    driver.cuts.take()
    driver.cuts.take()
    assert told == driver.log.cuts
    assert len(told) == 1


# A backlog


def test_lanes_that_never_meet_are_brought_together(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a backlog, each one begins its next batch at once."""
    monkeypatch.setattr(module, "_PATIENCE_S", 30.0)
    driver = Driver(is_chained=True)
    driver.begin(0)
    driver.begin(1)
    driver.end(1, 4)
    clock.now_s += 0.9
    assert driver.cuts.seconds_left() == pytest.approx(0.1)
    driver.cuts.look()
    clock.now_s += 0.2
    # A batch that begins now is short, so that the lanes meet soon.
    assert driver.cuts.seconds_left() == 0.05
    ending = threading.Thread(target=until_closed, args=(driver, lambda: driver.end(0, 3)))
    ending.start()
    driver.cuts.look()
    ending.join(30)
    assert driver.positions == [(3, 4)]
    assert driver.gate.wait_turn(0, lambda turn: 0.0) is Turn.ANY


def until_closed(driver: Driver, call: Any) -> None:
    with driver.gate.changed:
        assert driver.gate.changed.wait_for(lambda: driver.gate._is_closed, 30)
    call()


def test_what_is_on_its_way_is_drained_for_a_cut(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes process it while they read no source."""
    monkeypatch.setattr(module, "_PATIENCE_S", 30.0)
    driver = Driver(is_chained=True)
    driver.gate.has_leftover = driver.cuts.is_under_way
    driver.is_under_way = True
    driver.end(0, 3)

    def drain() -> None:
        turn = driver.gate.wait_turn(1, lambda turn: 0.0 if turn is Turn.DRAIN else math.inf)
        assert turn is Turn.DRAIN
        driver.is_under_way = False
        driver.gate.end_turn(1)

    draining = threading.Thread(target=drain)
    draining.start()
    clock.now_s += 1.5
    driver.cuts.look()
    draining.join(30)
    assert driver.positions == [(3, 0)]


def failed_tries(driver: Driver, clock: Clock) -> list[float]:
    """Let time pass in steps; return the times between tries to bring the lanes together."""
    tries: list[float] = []
    began, bring = clock.now_s, driver.cuts._bring

    def count() -> None:
        tries.append(clock.now_s)
        bring()

    driver.cuts._bring = count  # type: ignore[method-assign]
    for _ in range(90):
        clock.now_s += 1.0
        driver.cuts.look()
    return [now - before for before, now in zip([began, *tries], tries, strict=False)]


def test_a_lane_that_hangs_is_waited_for_less_and_less_often(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """All others stand still for a moment each time."""
    driver = Driver(is_chained=True)
    driver.begin(0)
    driver.end(1, 4)
    assert failed_tries(driver, clock) == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert driver.log.cuts == []
    said = [line for line in caplog.messages if "no cut of all stores" in line]
    assert len(said) == 1


def test_tries_are_frequent_again_after_one_that_has_worked(clock: Clock) -> None:
    driver = Driver(is_chained=True)
    driver.begin(0)
    driver.end(1, 4)
    failed_tries(driver, clock)
    driver.end(0, 3)
    clock.now_s += 31.0
    # Something is on its way whenever nobody has brought the lanes together.
    driver.cuts.is_under_way = lambda: not driver.gate._is_closed
    driver.end(1, 5)
    driver.cuts.look()
    assert driver.positions == [(3, 4), (3, 5)]
    assert driver.cuts.seconds_left() == pytest.approx(1.0)


def test_bringing_lanes_together_takes_only_a_small_share_of_the_time(clock: Clock) -> None:
    """If that takes long, it is done less often."""
    driver = Driver(is_chained=True)

    def slow() -> bool:
        clock.now_s += 0.15 * driver.gate._is_closed
        return not driver.gate._is_closed

    driver.cuts.is_under_way = slow
    driver.end(0, 3)
    clock.now_s += 1.5
    driver.cuts.look()
    assert driver.positions == [(3, 0)]
    assert driver.cuts.seconds_left() == pytest.approx(5.0)
