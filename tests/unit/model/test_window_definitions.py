"""Definitions of windows: their defaults, their bounds, and what is refused.

Exercises ``windows.definitions`` and ``windows.windowed``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock import (
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    java,
)
from penstock.errors import InvalidArgumentError
from penstock.model.time.duration import MAX_LONG
from penstock.model.windows.definitions import least_retention_ms
from penstock.model.windows.windowed import Window, window_end

DAY = 86_400_000


def test_windows_have_no_grace_unless_it_is_given() -> None:
    assert TimeWindows.of_size(10) == TimeWindows.of_size_with_no_grace(10)
    assert TimeWindows.of_size_with_no_grace(10) == TimeWindows(10, 10) == TimeWindows(10, 10, 0)
    assert SlidingWindows.of_time_difference_with_no_grace(10) == SlidingWindows(10)
    assert SlidingWindows(10) == SlidingWindows(10, 0)
    assert SessionWindows.of_inactivity_gap_with_no_grace(10) == SessionWindows(10)
    assert SessionWindows(10) == SessionWindows(10, 0)
    joined = JoinWindows.of_time_difference_with_no_grace(10)
    assert joined == JoinWindows(10, 10) == JoinWindows(10, 10, 0, False)
    assert UnlimitedWindows.of() == UnlimitedWindows(0)
    assert UnlimitedWindows.of().grace_ms == 0


def test_grace_can_be_given_at_once_or_later() -> None:
    assert TimeWindows.of_size_and_grace(10, 3) == TimeWindows.of_size(10).grace(3)
    assert TimeWindows.of_size(10).grace(3) == TimeWindows(10, 10, 3)
    sliding = SlidingWindows.of_time_difference_and_grace(10, 3)
    assert sliding == SlidingWindows(10).grace(3) == SlidingWindows(10, 3)
    session = SessionWindows.of_inactivity_gap_and_grace(10, 3)
    assert session == SessionWindows(10).grace(3) == SessionWindows(10, 3)
    joined = JoinWindows.of_time_difference_and_grace(10, 3)
    assert joined == JoinWindows(10, 10).grace(3) == JoinWindows(10, 10, 3)


def test_older_factories_make_a_day_of_window_and_grace() -> None:
    """A window that is longer than a day has no grace."""
    assert java.TimeWindows.of(10).grace_ms == java.SessionWindows.with_(10).grace_ms == DAY - 10
    assert java.JoinWindows.of(10).grace_ms == DAY - 20
    assert java.TimeWindows.of(DAY + 5).grace_ms == java.SessionWindows.with_(DAY + 5).grace_ms == 0
    assert java.JoinWindows.of(DAY).grace_ms == 0


def test_older_join_windows_are_eager() -> None:
    """They stay so when bounds or grace are set."""
    assert java.JoinWindows.of(10).before(5).after(3).grace(1) == JoinWindows(
        5, 3, 1, is_eager=True
    )


def test_each_side_of_a_join_window_can_be_set_alone() -> None:
    both = JoinWindows.of_time_difference_with_no_grace(10)
    assert both.before(3) == JoinWindows(3, 10)
    assert both.after(3) == JoinWindows(10, 3)
    assert both.before(3).size_ms == 13
    assert JoinWindows(10, -10).size_ms == 0


@pytest.mark.parametrize(
    ("code", "define"),
    [
        ("bad-window-size", lambda: TimeWindows.of_size(0)),
        ("bad-window-advance", lambda: TimeWindows.of_size(10).advance_by(0)),
        ("bad-window-advance", lambda: TimeWindows.of_size(10).advance_by(11)),
        ("bad-grace", lambda: TimeWindows.of_size(10).grace(-1)),
        ("bad-grace", lambda: SlidingWindows(10).grace(-1)),
        ("bad-grace", lambda: SessionWindows(10).grace(-1)),
        ("bad-grace", lambda: JoinWindows(10, 10).grace(-1)),
        ("bad-time-difference", lambda: SlidingWindows.of_time_difference_with_no_grace(-1)),
        ("bad-inactivity-gap", lambda: SessionWindows.of_inactivity_gap_with_no_grace(-1)),
        ("bad-join-window", lambda: JoinWindows(10, -11)),
        ("bad-window-start", lambda: UnlimitedWindows.of().start_on(-1)),
        ("bad-window", lambda: Window(-1, 5)),
        ("bad-window", lambda: Window(5, 4)),
    ],
)
def test_what_makes_no_window_is_refused(code: str, define: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        define()
    assert caught.value.code == code


def test_the_least_that_is_taken() -> None:
    """Each of these is next to something that is refused."""
    assert TimeWindows.of_size(1).size_ms == 1
    assert TimeWindows.of_size(10).advance_by(1).advance_ms == 1
    assert TimeWindows.of_size(10).advance_by(10).advance_ms == 10
    assert SlidingWindows.of_time_difference_and_grace(0, 0) == SlidingWindows(0, 0)
    assert SessionWindows.of_inactivity_gap_and_grace(0, 0) == SessionWindows(0, 0)
    assert UnlimitedWindows.of().start_on(0).start_ms == 0
    assert Window(0, 0).end == 0


def test_windows_of_a_timestamp() -> None:
    """The last window of all ends where time does."""
    hopping = TimeWindows.of_size(10).advance_by(5)
    assert hopping.windows_for(7) == [Window(0, 10), Window(5, 15)]
    assert TimeWindows.of_size(10).windows_for(MAX_LONG - 1)[-1].end == MAX_LONG
    unlimited = UnlimitedWindows.of().start_on(7)
    assert unlimited.windows_for(6) == []
    assert unlimited.windows_for(7) == [Window(7, MAX_LONG)]


def test_a_window_has_its_bounds_as_moments() -> None:
    window = Window(1_500, 2_000)
    assert window.start_time == datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)
    assert window.end_time == datetime(1970, 1, 1, 0, 0, 2, 0, UTC)


@pytest.mark.parametrize(
    ("windows", "needed_ms"),
    [
        (TimeWindows(10, 5, 3), 13),
        (UnlimitedWindows.of(), MAX_LONG),
        (SlidingWindows(10, 3), 23),
        (SessionWindows(10, 3), 13),
    ],
)
def test_stores_keep_windows_until_they_are_closed(windows: Any, needed_ms: int) -> None:
    """SQL's RETENTION and the stores of the DSL are checked against the same time."""
    assert least_retention_ms(windows) == needed_ms


def test_a_window_ends_at_the_last_time_at_most() -> None:
    """A window without an end is as large as Kafka's timestamps go."""
    assert window_end(5, 10) == 15
    assert window_end(5, MAX_LONG) == MAX_LONG
