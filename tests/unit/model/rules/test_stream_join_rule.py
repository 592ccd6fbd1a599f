"""Which records of two streams are partners, and how long one waits for another."""

from __future__ import annotations

from penstock.model.rules.stream_join_rule import StreamJoinRule
from penstock.model.windows.definitions import JoinWindows

WINDOWS = JoinWindows(before_ms=10, after_ms=3, grace_ms=100)
LEFT = StreamJoinRule.of(WINDOWS, is_outer=True)
RIGHT = StreamJoinRule.of(WINDOWS, is_left=False)


def test_bounds_are_exchanged_for_the_right_side() -> None:
    """A record is a partner of its partners; no time is below zero."""
    assert LEFT.partners(50) == (40, 53)
    assert RIGHT.partners(50) == (47, 60)
    assert LEFT.partners(5) == (0, 8)
    earlier = StreamJoinRule.of(JoinWindows(before_ms=10, after_ms=-3))
    assert earlier.partners(2) == (0, 0)
    assert earlier == StreamJoinRule.of(JoinWindows(10, -3), is_left=True, is_outer=False)


def test_result_has_the_later_timestamp() -> None:
    """Whichever side came last."""
    assert LEFT.result_time(7, 9) == 9
    assert LEFT.result_time(9, 7) == 9


def test_record_without_a_partner_waits_until_stream_time_has_passed() -> None:
    """At the last timestamp of a partner it still waits, one later it does not."""
    assert LEFT.waits(53, 53)
    assert not LEFT.waits(53, 54)


def test_waiting_record_is_open_until_its_reach_plus_grace() -> None:
    """A left record reaches as far as ``after``, a right one as far as ``before``."""
    assert LEFT.is_open(50, 153, of_left=True)
    assert not LEFT.is_open(50, 154, of_left=True)
    assert LEFT.is_open(50, 160, of_left=False)
    assert not LEFT.is_open(50, 161, of_left=False)


def test_self_join_forgets_records_that_the_store_would_not_take() -> None:
    """The store keeps window and grace: 113 ms, without its first millisecond."""
    assert LEFT.is_kept(89, 200)
    assert not LEFT.is_kept(88, 200)


def test_null_key_is_taken_only_where_a_record_alone_is_a_result() -> None:
    """A null value never is one."""
    assert LEFT.nulls.takes(has_key=False, has_value=True)
    assert not RIGHT.nulls.takes(has_key=False, has_value=True)
    assert not LEFT.nulls.takes(has_key=True, has_value=False)
    assert LEFT.nulls.drop_reason == "null-key-or-value"
