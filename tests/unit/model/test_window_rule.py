"""Windows of a record: by definition, as numbers, and as arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock import TimeWindows, UnlimitedWindows
from penstock.model.windows.definitions import rule_of
from penstock.model.windows.rule import WindowRule


@st.composite
def rules(draw: st.DrawFn) -> WindowRule:
    size_ms = draw(st.integers(1, 12))
    return WindowRule(size_ms, draw(st.integers(1, size_ms)), draw(st.integers(0, 9)))


@given(rule=rules(), timestamp=st.integers(0, 60))
def test_windows_are_those_that_contain_the_timestamp(rule: WindowRule, timestamp: int) -> None:
    """A window starts every ``advance_ms`` from 0 on; it contains its start, but not its end."""
    every = range(0, 61, rule.advance_ms)
    expected = [start for start in every if start <= timestamp < start + rule.size_ms]
    assert list(rule.starts(timestamp)) == expected
    assert rule.count(timestamp, rule.first_start(timestamp)) == len(expected)


@given(rule=rules(), start=st.integers(0, 40), stream_time=st.integers(0, 60))
def test_a_window_closes_at_its_end_plus_grace(
    rule: WindowRule, start: int, stream_time: int
) -> None:
    """Stream time that has reached it closes the window."""
    expected = stream_time < start + rule.size_ms + rule.grace_ms
    assert rule.is_open(start, stream_time) == expected


@given(rule=rules(), closed=st.integers(0, 60), more=st.integers(0, 30))
def test_windows_that_closed_since_the_last_time_are_emitted_once(
    rule: WindowRule, closed: int, more: int
) -> None:
    """The first time, all windows that have ended by then are emitted."""
    every = range(0, 120, rule.advance_ms)

    def emitted(close_time: int, last: int | None) -> list[int]:
        return [start for start in rule.closed_starts(close_time, last) if start in every]

    before = [start for start in every if start + rule.size_ms <= closed]
    assert emitted(closed, None) == before
    if before:
        after = [start for start in every if start + rule.size_ms <= closed + more]
        assert emitted(closed + more, closed) == after[len(before) :]
    stream_time = closed + rule.grace_ms
    assert rule.close_time(stream_time) == closed
    assert not any(rule.is_open(start, stream_time) for start in before)


def test_nothing_is_read_while_no_window_starts() -> None:
    """Every record asks; a scan of the store each time would be too slow."""
    rule = WindowRule(10, 10, 0)
    assert not rule.closed_starts(28, 25)
    assert not rule.closed_starts(9, None)
    assert rule.closed_starts(30, 25) == range(16, 21)


@given(rule=rules(), timestamps=st.lists(st.integers(0, 2**50), min_size=1))
def test_arrays_are_their_numbers(rule: WindowRule, timestamps: list[int]) -> None:
    """Over columns the same rule runs."""
    times = np.array(timestamps, np.int64)
    firsts = rule.first_start(times)
    assert firsts.tolist() == [rule.first_start(time) for time in timestamps]
    counts = [rule.count(time, rule.first_start(time)) for time in timestamps]
    assert rule.count(times, firsts).tolist() == counts
    pairs = zip(firsts.tolist(), timestamps[::-1], strict=True)
    assert rule.is_open(firsts, times[::-1]).tolist() == [rule.is_open(*pair) for pair in pairs]


def test_windows_have_their_rule() -> None:
    """One without an end begins where it says, and takes nothing from before."""
    hopping = TimeWindows.of_size_and_grace(10, 3).advance_by(5)
    assert rule_of(hopping) == WindowRule(10, 5, 3)
    unlimited = rule_of(UnlimitedWindows.of().start_on(7))
    assert [list(unlimited.starts(time)) for time in (6, 7, 2**62)] == [[], [7], [7]]
    assert unlimited.is_open(7, 2**62)
