"""The driver that leads, without Spark: its lanes, errors, cuts, and slots that come and go.

Exercises ``slot_release``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver import batch_runner, slot_release
from penstock.runtime.spark.driver.threads import slot_watch
from penstock.runtime.spark.exchange.batch_log import Cut
from penstock.runtime.spark.exchange.questions import CloseSlot, SlotId
from penstock.runtime.spark.exchange.stage_request import (
    Endpoint,
    Release,
    Report,
    Restore,
    StageRequest,
)
from tests.runtime.lead_world import LONG_S, Driver
from tests.runtime.slot_programs import words
from tests.unit.runtime.restore_calls import Heard

Make = Callable[..., Driver]
RELEASE = slot_release.release_slots


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda *given, **settings: Driver(monkeypatch, *given, **settings)


class Hanging:
    """Lets one slot wait with its answer."""

    def __init__(self, driver: Driver, slot: int) -> None:
        self.is_asked, self.may_answer = threading.Event(), threading.Event()
        self._driver, self._slot = driver, slot
        driver.answer = self

    def __call__(self, slot: int, request: StageRequest) -> list[Report]:
        if slot == self._slot:
            self.is_asked.set()
            assert self.may_answer.wait(LONG_S)
        return self._driver.processed(slot, request)


def failing(driver: Driver, slot: int, error: Exception, times: int = 1 << 30) -> None:
    """Let a slot raise an error for each request that has input."""
    left = [times]

    def answer(number: int, request: StageRequest) -> list[Report]:
        has_input = any(start < end for start, end in request.ranges.values())
        if number == slot and has_input and left[0] > 0:
            left[0] -= 1
            raise error
        return driver.processed(number, request)

    driver.answer = answer


# Batches


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_records_of_all_partitions_are_processed_once(make: Make, slots: int) -> None:
    driver = make(partitions=3, slots=slots)
    with driver.running():
        for _ in range(5):
            driver.send(0, 1, 2, 2)
            driver.wait_for(lambda: driver.is_done(0, 1, 2))
        assert driver.counts() == {"k0": 5, "k1": 5, "k2": 10}
        assert driver.runner.progress.records == 20
    assert driver.error is None
    assert driver.runner.has_run


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_killed", [False, True])
def test_nothing_is_lost_or_doubled_after_a_lost_answer(
    make: Make, when: str, *, is_killed: bool
) -> None:
    """Whether the stage was committed or not, and whether the slot is still there or a new one."""
    driver = make(words, partitions=2, slots=2)
    driver.kafka.fault = lambda number: when if number % 5 == 3 else None

    def answer(slot: int, request: StageRequest) -> list[Report]:
        try:
            return driver.processed(slot, request)
        except StreamsError:
            if is_killed:
                driver.end_slot(slot)
            raise

    driver.answer = answer
    with driver.running():
        for _ in range(6):
            driver.send(0, 1)
            driver.wait_for(lambda: driver.is_done(0, 1))
        driver.wait_for(lambda: not driver.runner.has_leftover())
        assert driver.counts() == {"a": 12, "b": 12}
        assert driver.runner.progress.reruns > 0
    assert driver.error is None


@pytest.mark.parametrize("is_killed", [False, True])
def test_an_answer_that_is_lost_on_its_way_is_asked_for_again(
    make: Make, *, is_killed: bool
) -> None:
    """The slot has committed; it answers from its memory, or a new one from the batch log."""
    driver = make(partitions=1, slots=1)
    lost = [3]

    def answer(slot: int, request: StageRequest) -> list[Report]:
        reports = driver.processed(slot, request)
        if any(report.records for report in reports) and lost[0] > 0:
            lost[0] -= 1
            if is_killed:
                driver.end_slot(slot)
            raise StreamsError("worker-lost", "its line has ended")
        return reports

    driver.answer = answer
    with driver.running():
        for _ in range(3):
            driver.send(0, 0)
            driver.wait_for(lambda: driver.is_done(0))
        assert driver.counts() == {"k0": 6}


# What fails


def test_a_failure_of_the_users_program_ends_the_batches(make: Make) -> None:
    """If the handler says so; the error keeps its own cause."""
    driver = make()
    driver.decides = False
    wrong = StreamsError("processing", "node 'map' failed")
    failing(driver, 0, wrong)
    driver.send(0)
    with driver.running():
        driver.wait_for(lambda: driver.error)
    assert driver.error is wrong
    assert wrong.__cause__ is None
    assert driver.failed == [wrong]


def test_a_failure_that_the_handler_replaces_holds_up_no_other_slot(make: Make) -> None:
    """``REPLACE_THREAD``: that slot begins again, and is tried again after a pause."""
    driver = make()
    wrong = StreamsError("processing", "node 'map' failed")
    failing(driver, 0, wrong, times=1)
    driver.send(0, 1)
    with driver.running():
        driver.wait_for(lambda: driver.is_done(0, 1))
        assert driver.counts() == {"k0": 1, "k1": 1}
    assert (driver.failed, driver.error) == ([wrong], None)


def test_a_driver_that_another_one_has_replaced_asks_nobody(make: Make) -> None:
    """The application begins again, and finds out who leads."""
    driver = make()
    fenced = StreamsError("fenced", "another driver leads")
    failing(driver, 1, fenced)
    driver.send(1)
    with driver.running():
        driver.wait_for(lambda: driver.error)
    assert (driver.error, driver.failed) == (fenced, [])


def test_a_driver_that_is_no_member_any_more_ends(make: Make) -> None:
    driver = make()
    lost = StreamsError("not-leading", "the group has another leader")

    def check() -> None:
        raise lost

    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        driver.check = check
        driver.wait_for(lambda: driver.error)
    assert driver.error is lost


def test_an_error_of_a_to_spark_function_ends_the_batches(make: Make) -> None:
    """Its rows come again after a restart; no lane is to blame."""
    driver = make()
    wrong = StreamsError("to-spark", "the function of 'rows' raised")
    with driver.running():
        driver.runner._reported(None, wrong)
        driver.wait_for(lambda: driver.error)
    assert (driver.error, driver.failed) == (wrong, [])


def test_kafka_that_does_not_answer_the_driver_itself_ends_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it looks after can be done later."""
    driver = make()
    monkeypatch.setattr(driver.runner, "_topics_s", 0.0)
    asked = threading.Semaphore(0)

    def away() -> None:
        asked.release()
        raise StreamsError("broker-away", "no answer")

    driver.topics_checked = away
    with driver.running():
        for _ in range(3):
            assert asked.acquire(timeout=LONG_S)
        driver.send(0, 1)
        driver.wait_for(lambda: driver.is_done(0, 1))
    assert driver.error is None


def test_new_partitions_end_the_batches(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application begins again with them."""
    driver = make()
    monkeypatch.setattr(driver.runner, "_topics_s", 0.0)
    changed = StreamsError("partitions-changed", "a source topic has other partitions")

    def more() -> None:
        raise changed

    driver.topics_checked = more
    with driver.running():
        driver.wait_for(lambda: driver.error)
    assert driver.error is changed


def test_a_session_that_was_stopped_ends_the_application(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its stream threads are gone for good; that is noticed without input, too."""
    monkeypatch.setattr(batch_runner, "_LOOK_S", 0.0)
    driver = make(**{"commit.interval.ms": 600_000})
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        driver.threads.is_stopped = True
        driver.wait_for(lambda: driver.error)
    assert isinstance(driver.error, StreamsError)
    assert driver.error.code == "spark-lost"


def test_what_lanes_wait_for_is_shown(make: Make) -> None:
    """Until they do not wait any more."""
    driver = make()
    failing(driver, 0, StreamsError("broker-away", "no answer from 127.0.0.1:1"))
    driver.send(0)
    with driver.running():
        driver.wait_for(lambda: driver.runner.progress.waiting_for == "no answer from 127.0.0.1:1")
        assert driver.runner.is_in_trouble
        driver.answer = driver.processed
        driver.wait_for(lambda: driver.runner.progress.waiting_for is None)
        assert not driver.runner.is_in_trouble


# Restoring


def test_the_application_runs_when_every_lane_has_restored_its_state(make: Make) -> None:
    """It is told once, and the listener hears of every store."""
    driver = make()
    restore = Restore("counts", "app-counts-changelog", 0, start=3, end=9, position=9, records=5)
    is_restored = threading.Event()

    def answer(slot: int, request: StageRequest) -> list[Report]:
        reports = driver.processed(slot, request)
        if slot == 1 and not is_restored.is_set():
            return [Report(task=TaskId(0, 1), stage=0, slot=1, is_waiting=True)]
        return [replace(report, restores=(restore,)[:slot]) for report in reports]

    driver.answer = answer
    under_way = replace(restore, position=5)
    driver.runner.restoring = lambda: [] if is_restored.is_set() else [under_way]  # type: ignore[method-assign]
    driver.runner.restores.listener = heard = Heard()
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        assert (driver.runner.is_waiting, driver.restored) == (True, 0)
        is_restored.set()
        driver.send(1)
        driver.wait_for(lambda: driver.restored and len(heard.calls) >= 3)
    assert driver.restored == 1
    assert [call[0] for call in heard.calls[:3]] == ["start", "batch", "end"]


def test_a_thread_that_is_lost_lets_its_slot_begin_at_once(make: Make) -> None:
    """It restores its state elsewhere, also if there is no input for it; the other one rests."""
    driver = make()
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        driver.wait_for(lambda: set(driver.placement.endpoints) == {0, 1})
        before = len(driver.asked)
        driver.threads.gone = {"thread-1"}
        driver.wait_for(lambda: len(driver.asked) > before)
    again = driver.asked[before:]
    assert {(slot, request.is_first) for slot, request in again} == {(1, True)}
    assert 1 in driver.threads.vacated


# Cuts


def test_a_query_holds_all_stores_at_one_cut(make: Make) -> None:
    """Nothing begins while it reads; afterwards the lanes go on."""
    driver = make(words, partitions=2, slots=2)
    driver.send(0, 1)
    with driver.running():
        driver.wait_for(lambda: driver.is_done(0, 1))
        with driver.runner.hold(LONG_S) as number:
            assert number == driver.log.cuts[-1].batch
            asked = len(driver.asked)
            driver.send(0, 1)
            time.sleep(0.02)
            assert len(driver.asked) == asked
        driver.wait_for(lambda: driver.is_done(0, 1))


def test_a_query_does_not_wait_for_a_lane_that_hangs(make: Make) -> None:
    driver = make()
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        hanging = Hanging(driver, 1)
        driver.send(1)
        assert hanging.is_asked.wait(LONG_S)
        with driver.runner.hold(0.01) as number:
            assert number is None
        hanging.may_answer.set()


def test_a_query_before_the_first_batch_has_nothing_to_hold(make: Make) -> None:
    driver = make()
    with driver.runner.hold(LONG_S) as number:
        assert number is None


def test_the_last_cut_of_a_run_has_everything_that_it_has_processed(make: Make) -> None:
    """Copies of stores are up to date before another instance takes over."""
    driver = make(words, partitions=2, slots=2)
    driver.send(0, 1, 1)
    with driver.running():
        driver.wait_for(lambda: driver.is_done(0, 1))
    cut = driver.log.cuts[-1]
    assert cut.positions == {("in", 0): 1, ("in", 1): 2}
    assert not driver.runner.has_leftover()


class Sinks:
    """A ``to_spark`` function that takes long."""

    has_any = True

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.may_go_on = threading.Event()

    def call(self, number: int, written: Any) -> None:
        self.calls.append(number)
        assert self.may_go_on.wait(LONG_S)


def test_batches_go_on_while_a_to_spark_function_runs(make: Make) -> None:
    """It gets rows of cuts, and the application is not idle before it has had all of them."""
    driver, sinks = make(), Sinks()
    driver.runner._rows._calls[0]._sinks = sinks
    with driver.running():
        for _ in range(3):
            driver.send(0, 1)
            driver.wait_for(lambda: driver.is_done(0, 1))
        driver.wait_for(lambda: sinks.calls)
        assert len(sinks.calls) == 1
        assert driver.runner.has_leftover()
        sinks.may_go_on.set()
        driver.wait_for(lambda: not driver.runner.has_leftover())
    assert sinks.calls[-1] == driver.log.cuts[-1].batch


def test_slots_are_asked_while_no_batch_runs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that nobody asks for two minutes ends."""
    asked = threading.Semaphore(0)
    monkeypatch.setattr(slot_watch, "_LOOK_S", 0.01)
    monkeypatch.setattr(slot_watch, "ask", lambda *given, **_: asked.release() or [])
    driver = make(**{"commit.interval.ms": 600_000})
    with driver.running():
        for _ in range(6):
            assert asked.acquire(timeout=LONG_S)
        driver.runner.close(keeps_slots=True)


# Slots that come, go and move


@pytest.mark.parametrize("slots", [1, 3])
def test_slots_may_be_added_and_removed_at_any_time(make: Make, slots: int) -> None:
    """Nothing is lost or doubled; the log names the new ones before they begin."""
    driver = make(words, partitions=3, slots=2)
    with driver.running():
        for round_ in range(6):
            driver.send(0, 1, 2)
            if round_ == 2:
                driver.runner.slots = slots
        driver.wait_for(lambda: driver.is_done(0, 1, 2))
        driver.wait_for(lambda: driver.runner.used_slots == slots)
        driver.send(0, 1, 2)
        driver.wait_for(lambda: driver.is_done(0, 1, 2) and not driver.runner.has_leftover())
        assert driver.counts() == {"a": 21, "b": 21}
    assert driver.log.slots == [slots]
    assert {request.slots for _, request in driver.asked[-2:]} == {slots}


def test_slots_that_are_added_wait_for_batches_that_are_under_way(make: Make) -> None:
    """Their tasks come from slots that would still write."""
    driver = make(partitions=3, slots=2)
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        hanging = Hanging(driver, 1)
        driver.send(1)
        assert hanging.is_asked.wait(LONG_S)
        driver.runner.slots = 3
        time.sleep(0.02)
        assert (driver.runner.used_slots, driver.log.slots) == (2, [])
        hanging.may_answer.set()
        driver.wait_for(lambda: driver.runner.used_slots == 3 and driver.runner.has_run)
        assert driver.counts() == {"k1": 1}


def test_slots_do_not_change_while_one_gets_ready(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slot that is released, and gets ready after that, would keep its tasks' folders locked."""
    driver = make(partitions=3, slots=1)
    asked, may_warm = threading.Semaphore(0), threading.Event()

    def warm_up(slot: int, request: StageRequest) -> None:
        if request.slots == 2:
            asked.release()
            assert may_warm.wait(LONG_S)
        driver.place(slot)

    monkeypatch.setattr(driver.stages, "warm_up", warm_up)
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        driver.runner.slots = 2
        assert all(asked.acquire(timeout=LONG_S) for _ in range(2))
        driver.runner.slots = 1
        driver.send(0, 1, 2)
        time.sleep(0.03)
        assert driver.runner.used_slots == 2
        may_warm.set()
        driver.wait_for(lambda: driver.runner.used_slots == 1 and driver.runner.has_run)
        driver.wait_for(lambda: driver.is_done(0, 1, 2))
        assert set(driver.placement.endpoints) == {0}


def test_slots_do_not_change_before_it_is_known_what_is_committed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New lanes would process a stage again that was committed without an answer."""
    monkeypatch.setattr(batch_runner, "_PARK_AGAIN_S", 0.01)
    driver = make(partitions=2, slots=1)
    is_back = threading.Event()

    def answer(slot: int, request: StageRequest) -> list[Report]:
        reports = driver.processed(slot, request)
        if not is_back.is_set() and any(start < end for start, end in request.ranges.values()):
            raise StreamsError("worker-lost", "its line has ended")
        return reports

    driver.answer = answer
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        driver.send(0, 1)
        driver.wait_for(lambda: driver.runner.is_in_trouble)
        driver.runner.slots = 2
        time.sleep(0.03)
        assert driver.runner.used_slots == 1
        is_back.set()
        driver.wait_for(lambda: driver.runner.used_slots == 2 and driver.runner.has_run)
        driver.wait_for(lambda: driver.is_done(0, 1))
        assert driver.counts() == {"k0": 1, "k1": 1}


def test_lanes_go_on_while_slots_cannot_change(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that hangs keeps the slots as they are, but not the others from their work."""
    monkeypatch.setattr(batch_runner, "_PARK_S", 0.01)
    driver = make(partitions=2, slots=2)
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        hanging = Hanging(driver, 1)
        driver.send(1)
        assert hanging.is_asked.wait(LONG_S)
        driver.runner.slots = 1
        for _ in range(5):
            driver.send(0)
            driver.wait_for(lambda: driver.is_done(0))
        assert driver.runner.used_slots == 2
        hanging.may_answer.set()


def test_a_slot_that_moves_is_released_and_begins_elsewhere(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it does, the others go on; it creates its tasks without input."""
    driver = make()
    target = Endpoint("elsewhere", "host", 1, "2")
    moves = [(1, target)]
    monkeypatch.setattr(
        driver.runner._movement, "next_move",
        lambda slots: moves.pop() if moves and driver.runner.has_run else None,
    )  # fmt: skip
    driver.send(0, 1)
    with driver.running():
        driver.wait_for(lambda: driver.placement._targets.get(1) == target)
        driver.send(0, 1)
        driver.wait_for(lambda: driver.is_done(0, 1))
        assert driver.counts() == {"k0": 2, "k1": 2}
    assert 1 in driver.threads.vacated
    assert 0 not in driver.threads.vacated


# The end


def test_a_batch_that_is_under_way_is_waited_for(make: Make) -> None:
    """Its commit would otherwise be left to the next driver."""
    driver = make(slots=1)
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        hanging = Hanging(driver, 0)
        driver.send(0)
        assert hanging.is_asked.wait(LONG_S)
        threading.Timer(0.02, hanging.may_answer.set).start()
        assert driver.runner.stop(LONG_S)
        assert driver.is_done(0)
    assert not driver.stages.is_cancelled.is_set()
    assert driver.log.cuts[-1].positions["in", 0] == 1


def test_a_batch_that_takes_too_long_is_cancelled(make: Make) -> None:
    """Nothing is waited for any more; the next driver finds out what is committed."""
    driver = make(slots=1)
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        hanging = Hanging(driver, 0)
        driver.send(0)
        assert hanging.is_asked.wait(LONG_S)
        assert not driver.runner.stop(0.01)
        assert driver.stages.is_cancelled.is_set()
        hanging.may_answer.set()
    assert driver.error is None


def test_no_batch_begins_after_the_end(make: Make) -> None:
    """What is sent now is for the next driver; what is on its way is processed."""
    driver = make(words, partitions=2, slots=2)
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        assert driver.runner.stop(LONG_S)
        asked = len(driver.asked)
        driver.send(0, 1)
        driver.join()
        time.sleep(0.01)
        assert len(driver.asked) == asked


def test_an_error_while_the_application_closes_is_for_nobody(make: Make) -> None:
    driver = make(slots=1)
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        is_asked, may_fail = threading.Event(), threading.Event()

        def cancelled(slot: int, request: StageRequest) -> list[Report]:
            is_asked.set()
            assert may_fail.wait(LONG_S)
            raise StreamsError("processing", "it was cancelled")

        driver.answer = cancelled
        driver.send(0)
        assert is_asked.wait(LONG_S)
        assert not driver.runner.stop(0.01)
        may_fail.set()
    assert (driver.error, driver.failed) == (None, [])


def test_a_slot_that_hangs_does_not_keep_the_driver_from_closing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its server is alive, so the answer may come; all slots are asked at once."""
    asked: list[str] = []
    may_end = threading.Event()

    def hanging(endpoint: Endpoint, secret: bytes, question: CloseSlot) -> None:
        assert question.release == Release()
        asked.append(endpoint.server)
        assert may_end.wait(LONG_S)

    driver = make(partitions=3, slots=3)
    monkeypatch.setattr(batch_runner, "release_slots", RELEASE)
    monkeypatch.setattr(slot_release, "ask", hanging)
    monkeypatch.setattr(slot_release, "_PATIENCE_S", 0.05)
    with driver.running():
        driver.wait_for(lambda: len(driver.placement.endpoints) == 3)
        assert driver.runner.stop(LONG_S)
        driver.runner.close(keeps_slots=False)
    assert sorted(asked) == ["thread-0", "thread-1", "thread-2"]
    assert driver.placement.endpoints == {}
    assert sorted(driver.threads.vacated) == [0, 1, 2]
    may_end.set()


@pytest.mark.parametrize("keeps_slots", [False, True])
def test_slots_are_released_at_the_end_unless_the_next_run_begins_at_once(
    make: Make, monkeypatch: pytest.MonkeyPatch, *, keeps_slots: bool
) -> None:
    """Otherwise they keep their folders open, in threads that other applications share."""
    asked: list[Any] = []
    driver = make(slots=1)
    monkeypatch.setattr(batch_runner, "release_slots", RELEASE)
    monkeypatch.setattr(slot_release, "ask", lambda *given: asked.append(given))
    with driver.running():
        driver.wait_for(lambda: driver.runner.has_run)
        assert driver.runner.stop(LONG_S)
        driver.runner.close(keeps_slots=keeps_slots)
    question = CloseSlot(SlotId(driver.staged.application.key, 0), Release())
    given = (Endpoint("thread-0", "host", 1, "1"), b"secret", question)
    assert asked == ([] if keeps_slots else [given])


def test_totals_go_on_in_the_next_run(make: Make) -> None:
    """The application began again; nothing was counted twice."""
    first = make(slots=1)
    first.send(0, 0)
    with first.running():
        first.wait_for(lambda: first.is_done(0))
    second = make(slots=1)
    second.runner.continue_from(first.runner.progress, first.runner.meter)
    assert second.runner.progress.records == 2
    assert second.runner.meter is first.runner.meter


def test_cuts_of_a_run_continue_those_of_the_last_one(make: Make) -> None:
    driver = make(slots=1)
    driver.runner._cuts._next = 8
    with driver.running():
        driver.wait_for(lambda: driver.log.cuts)
    assert isinstance(driver.log.cuts[0], Cut)
    assert driver.log.cuts[0].batch == 8
