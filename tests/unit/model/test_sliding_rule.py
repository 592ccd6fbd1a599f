"""Which sliding windows a record belongs to or makes, and when a window closes."""

from __future__ import annotations

from penstock.model.windows.sliding_rule import SlidingRule

RULE = SlidingRule(difference_ms=10, grace_ms=5)


def test_record_makes_a_window_on_each_side() -> None:
    """The left window ends at the record, the right one starts after it."""
    assert RULE.end(RULE.left_start(50)) == 50
    assert RULE.right_start(50) == 51


def test_window_is_open_until_its_end_plus_grace() -> None:
    """At exactly that time it still takes records."""
    close_time = RULE.close_time(stream_time=55)
    assert close_time == 50
    assert RULE.is_open(40, close_time)
    assert not RULE.is_open(39, close_time)


def test_left_window_does_not_start_before_zero() -> None:
    """Records of the first ``difference_ms`` share a window from 0 on."""
    assert RULE.is_early(9)
    assert not RULE.is_early(10)


def test_windows_around_a_record_are_searched() -> None:
    """From those that end where its left window starts to its right window."""
    assert RULE.neighbours(50) == (30, 51)
    assert RULE.neighbours(15) == (0, 16)


def test_record_before_is_a_partner_within_the_difference() -> None:
    """A window contains both its bounds."""
    assert RULE.has_left_partner(50, 40)
    assert not RULE.has_left_partner(50, 39)
    assert not RULE.has_left_partner(50, None)
    assert RULE.reaches(40, 50)
    assert not RULE.reaches(39, 50)


def test_windows_that_closed_since_the_last_time_are_emitted_once() -> None:
    """A window that ends at the close time is open; the next time begins with it."""
    assert RULE.closed_starts(50, None) == range(40)
    assert RULE.closed_starts(55, 50) == range(40, 45)
    assert RULE.closed_starts(15, 5) == range(5)
    assert not RULE.closed_starts(10, None)
