"""Final results of windows that the wall clock closes, because no record comes any more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.operators.aggregations.idle_time import IdleTime

_CONFIG = {"application.id": "idle"}


def _driver(windowed: Callable[[Any], Any], engine: Any = "records") -> ps.TopologyTestDriver:
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    windowed(grouped).count().to_stream(lambda key, n: f"{key.key}@{key.window.start}").to("out")
    return ps.TopologyTestDriver(builder.build(), _CONFIG, engine=engine)


def _tumbling(grouped: Any, idle: Any = "30s") -> Any:
    windows = ps.TimeWindows.of_size_with_no_grace("60s")
    return grouped.windowed_by(windows).emit_strategy("on_window_close", idle=idle)


def _sessions(grouped: Any) -> Any:
    windows = ps.SessionWindows.of_inactivity_gap_with_no_grace("10s")
    return grouped.windowed_by(windows).emit_strategy("on_window_close", idle="30s")


def _sliding(grouped: Any) -> Any:
    windows = ps.SlidingWindows.of_time_difference_with_no_grace("10s")
    return grouped.windowed_by(windows).emit_strategy("on_window_close", idle="30s")


def _keys(driver: ps.TopologyTestDriver) -> list[str]:
    return [record.key for record in driver.read_records("out")]


@pytest.mark.parametrize("engine", ["records", "columns"])
def test_a_window_closes_when_the_wall_clock_says_so(engine: str) -> None:
    with _driver(_tumbling, engine) as driver:
        driver.pipe_input("in", "a", "x", timestamp=10_000)
        driver.advance_wall_clock_time("1s")
        # The window ends at 60 s. The record was at 10 s, so 50 s and the idle time have to pass.
        driver.advance_wall_clock_time("79s")
        assert _keys(driver) == []
        driver.advance_wall_clock_time("2s")
        assert _keys(driver) == ["a@0"]


def test_a_record_for_a_window_that_the_clock_closed_is_late() -> None:
    with _driver(_tumbling) as driver:
        driver.pipe_input("in", "a", "x", timestamp=10_000)
        for _ in range(100):
            driver.advance_wall_clock_time("1s")
        assert _keys(driver) == ["a@0"]
        driver.pipe_input("in", "a", "x", timestamp=20_000)
        driver.pipe_input("in", "a", "x", timestamp=130_000)
        for _ in range(200):
            driver.advance_wall_clock_time("1s")
        # The late record opened no window, and the window at 0 was emitted once.
        assert _keys(driver) == ["a@120000"]


def test_records_that_come_in_time_keep_the_clock_away() -> None:
    with _driver(_tumbling) as driver:
        for second in range(0, 59, 10):
            driver.pipe_input("in", "a", "x", timestamp=second * 1000)
            for _ in range(20):
                driver.advance_wall_clock_time("1s")
        # 120 s have passed by the wall clock, but never 30 s without a record.
        assert _keys(driver) == []


@pytest.mark.parametrize("windowed", [_sessions, _sliding])
def test_sessions_and_sliding_windows_close_too(windowed: Callable[[Any], Any]) -> None:
    with _driver(windowed) as driver:
        driver.pipe_input("in", "a", "x", timestamp=10_000)
        for _ in range(60):
            driver.advance_wall_clock_time("1s")
        assert len(_keys(driver)) == 1


def test_without_idle_only_records_close_windows() -> None:
    with _driver(lambda grouped: _tumbling(grouped, idle=None)) as driver:
        driver.pipe_input("in", "a", "x", timestamp=10_000)
        driver.advance_wall_clock_time("1h")
        driver.advance_wall_clock_time("1h")
        assert _keys(driver) == []


@pytest.mark.parametrize("idle", ["0s", timedelta(seconds=-1), -1])
def test_an_idle_time_of_nothing_is_refused(idle: Any) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        _driver(lambda grouped: _tumbling(grouped, idle=idle))
    assert caught.value.code == "bad-duration"


def test_idle_without_final_results_is_refused() -> None:
    windows = ps.TimeWindows.of_size_with_no_grace("60s")
    grouped = ps.StreamsBuilder().stream("in").group_by_key().windowed_by(windows)
    with pytest.raises(InvalidArgumentError) as caught:
        grouped.emit_strategy("on_window_update", idle="30s")
    assert caught.value.code == "idle-without-final"


def test_time_moves_with_the_clock_and_starts_anew_with_a_record() -> None:
    clock = OperatorClock()
    idle = IdleTime(clock, 100)
    assert not idle.passed(1_000)
    clock.advance(50)
    assert not idle.passed(1_000)
    assert not idle.passed(1_100)
    assert idle.passed(1_130)
    assert clock.stream_time == 80
    clock.advance(70)  # a record behind the clock changes nothing
    assert idle.passed(1_140)
    assert clock.stream_time == 90
    clock.advance(200)
    assert not idle.passed(1_150)
    assert not idle.passed(1_250)
    assert idle.passed(1_251)
    assert clock.stream_time == 201
