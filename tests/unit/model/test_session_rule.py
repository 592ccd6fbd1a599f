"""Which sessions a record belongs to, and when a session closes."""

from __future__ import annotations

from penstock.model.windows.session_rule import SessionRule

RULE = SessionRule(gap_ms=10, grace_ms=5)


def test_sessions_within_the_gap_belong_together() -> None:
    """The gap counts from both ends; no time is below zero."""
    assert RULE.neighbours(50) == (40, 60)
    assert RULE.neighbours(3) == (0, 13)


def test_session_is_open_until_gap_and_grace_have_passed() -> None:
    """At exactly that time it still takes records."""
    close_time = RULE.close_time(stream_time=65)
    assert close_time == 50
    assert RULE.is_open(50, close_time)
    assert not RULE.is_open(49, close_time)


def test_merged_session_spans_both() -> None:
    """Whichever begins or ends first."""
    assert RULE.merged(50, 50, 40, 45) == (40, 50)
    assert RULE.merged(40, 50, 45, 60) == (40, 60)


def test_session_of_one_timestamp_is_overwritten() -> None:
    """It has the same key in the store as before."""
    assert not RULE.replaces(50, 50)
    assert RULE.replaces(50, 51)


def test_sessions_that_closed_since_the_last_time_are_emitted_once() -> None:
    """A session that ends at the close time is open; the next time begins with it."""
    assert RULE.closed_ends(50, -1) == range(50)
    assert RULE.closed_ends(60, 50) == range(50, 60)
    assert not RULE.closed_ends(50, 50)
