"""Functions of ``to_spark`` get the rows of each cut, beside the batches; ``row_calls``, too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from penstock.errors import PenstockError, StreamsError
from penstock.kernel.clocks import Clocks
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.lanes import sink_calls as module
from penstock.runtime.spark.driver.lanes.sink_calls import SinkCalls
from penstock.runtime.spark.exchange.batch_log import Cut
from penstock.runtime.spark.exchange.stage_request import Report
from tests.unit.runtime.lanes.lane_world import World

LONG_S = 30.0
ROWS = ("app-rows-to-spark", 0)

#: The number of a cut, and up to where its rows are; None if Kafka has to be asked.
Call = tuple[int, Mapping[TopicPartition, int] | None]


class Sinks:
    """The functions: they can be slow, and they can fail."""

    def __init__(self, *, has_any: bool = True) -> None:
        self.has_any = has_any
        self.calls: list[Call] = []
        self.errors: list[Exception] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.is_called = threading.Event()

    def call(self, number: int, written: Mapping[TopicPartition, int] | None) -> None:
        self.calls.append((number, written))
        self.is_called.set()
        assert self.may_go_on.wait(LONG_S)
        if self.errors:
            raise self.errors.pop(0)


class Driver:
    """Cuts come as a test says, with the rows that tasks have written."""

    def __init__(self, sinks: Sinks, interval_s: float = 0.0) -> None:
        self.sinks = sinks
        self.accounts = World().accounts
        self.errors: list[PenstockError] = []
        self.calls = SinkCalls(sinks, self.accounts, self.errors.append, interval_s=interval_s)
        self.accounts._has_spark_rows = True

    def cut(self, number: int, rows: int, *, is_repeated: bool = False) -> None:
        written = {} if is_repeated else {ROWS: rows}
        report = Report(
            task=cast("Any", (0, 0)), stage=0, slot=0, clocks=Clocks(), written=written,
            is_repeated=is_repeated,
        )  # fmt: skip
        self.accounts.note_stage([report])
        self.calls.taken(Cut(1, number, {}))


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setattr(module, "_PAUSE_S", 0.005)
    made = Driver(Sinks())
    yield made
    made.sinks.may_go_on.set()
    made.calls.close(LONG_S)


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def idle(driver: Driver) -> list[Call]:
    until(lambda: driver.calls.is_idle)
    return driver.sinks.calls


def test_each_cut_brings_its_rows(driver: Driver) -> None:
    """Those that earlier drivers have left are known before the first cut."""
    driver.cut(4, 10)
    assert idle(driver) == [(4, {ROWS: 10})]
    driver.cut(5, 15)
    assert idle(driver) == [(4, {ROWS: 10}), (5, {ROWS: 15})]


def test_no_cut_waits_for_a_function(driver: Driver) -> None:
    """A slow one gets the rows of all cuts in between at once."""
    driver.sinks.may_go_on.clear()
    driver.cut(1, 5)
    assert driver.sinks.is_called.wait(LONG_S)
    for number in range(2, 6):
        driver.cut(number, 5 * number)
    assert not driver.calls.is_idle
    driver.sinks.may_go_on.set()
    assert idle(driver) == [(1, {ROWS: 5}), (5, {ROWS: 25})]


def test_rows_of_a_task_that_had_committed_are_asked_for(driver: Driver) -> None:
    """The report from its marker does not say what it has written."""
    driver.cut(1, 5)
    idle(driver)
    driver.cut(2, 0, is_repeated=True)
    idle(driver)
    driver.cut(3, 9)
    assert idle(driver) == [(1, {ROWS: 5}), (2, None), (3, {ROWS: 9})]


def test_rows_that_could_not_be_asked_for_are_asked_for_again(driver: Driver) -> None:
    driver.sinks.errors = [StreamsError("broker-away", "no answer")]
    driver.cut(1, 0, is_repeated=True)
    assert idle(driver) == [(1, None), (1, None)]
    assert driver.errors == []


def test_a_failure_that_passes_is_tried_again_with_the_newest_rows(driver: Driver) -> None:
    """A cut that has come meanwhile includes those of the one that failed."""
    driver.cut(1, 5)
    idle(driver)
    driver.sinks.errors = [StreamsError("broker-away", "no answer")]
    driver.sinks.may_go_on.clear()
    driver.sinks.is_called.clear()
    driver.cut(2, 10)
    assert driver.sinks.is_called.wait(LONG_S)
    driver.cut(3, 15)
    driver.sinks.may_go_on.set()
    until(lambda: len(driver.sinks.calls) == 3)
    assert idle(driver)[1:] == [(2, {ROWS: 10}), (3, {ROWS: 15})]


def test_an_error_of_the_function_ends_the_application(driver: Driver) -> None:
    """No other call follows; the rows come again after a restart."""
    wrong = StreamsError("to-spark", "the function of 'rows' raised")
    driver.sinks.errors = [wrong]
    driver.cut(1, 5)
    until(lambda: driver.errors == [wrong])
    driver.cut(2, 10)
    assert driver.calls.close(LONG_S)
    assert len(driver.sinks.calls) == 1


def test_the_end_waits_for_the_call_that_is_under_way(driver: Driver) -> None:
    driver.sinks.may_go_on.clear()
    driver.cut(1, 5)
    assert driver.sinks.is_called.wait(LONG_S)
    threading.Timer(0.02, driver.sinks.may_go_on.set).start()
    assert driver.calls.close(LONG_S)
    driver.cut(2, 10)
    assert driver.sinks.calls == [(1, {ROWS: 5})]


def test_the_end_hands_over_the_rows_of_the_last_cut(driver: Driver) -> None:
    """It was taken a moment ago, and is no matter for the next run."""
    driver.cut(1, 5)
    assert driver.calls.close(LONG_S)
    assert driver.sinks.calls == [(1, {ROWS: 5})]


def test_a_function_that_hangs_does_not_keep_the_application_from_its_end(driver: Driver) -> None:
    driver.sinks.may_go_on.clear()
    driver.cut(1, 5)
    assert driver.sinks.is_called.wait(LONG_S)
    assert not driver.calls.close(0.01)


def test_rows_of_several_cuts_wait_for_the_next_time() -> None:
    """A table has a version every minute, not every few milliseconds."""
    driver = Driver(Sinks(), interval_s=LONG_S)
    driver.cut(1, 5)
    assert idle(driver) == [(1, {ROWS: 5})]
    driver.cut(2, 10)
    driver.cut(3, 15)
    assert not driver.calls.is_idle
    assert len(driver.sinks.calls) == 1
    driver.calls.hurry()
    assert idle(driver) == [(1, {ROWS: 5}), (3, {ROWS: 15})]
    driver.cut(4, 20)
    assert driver.calls.close(LONG_S)
    assert driver.sinks.calls[2:] == [(4, {ROWS: 20})]


def test_the_next_time_comes_by_itself() -> None:
    driver = Driver(Sinks(), interval_s=0.05)
    began = time.monotonic()
    driver.cut(1, 5)
    idle(driver)
    driver.cut(2, 10)
    assert idle(driver) == [(1, {ROWS: 5}), (2, {ROWS: 10})]
    assert time.monotonic() - began >= 0.05
    assert driver.calls.close(LONG_S)


def test_without_functions_there_is_nothing_to_wait_for() -> None:
    driver = Driver(Sinks(has_any=False))
    driver.cut(1, 5)
    assert driver.calls.is_idle
    assert driver.calls.close(0.0)
    assert driver.sinks.calls == []
