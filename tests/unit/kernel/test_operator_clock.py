"""The time that one operator has seen."""

from penstock.kernel.operator_clock import NO_TIME, OperatorClock


def test_stream_time_never_goes_back() -> None:
    """A late record does not reopen what has closed."""
    clock = OperatorClock()
    assert clock.stream_time == NO_TIME
    assert [clock.advance(t) for t in (5, 3, 9)] == [5, 5, 9]


def test_final_results_are_due_when_the_close_time_moves() -> None:
    """Before the first emission any close time will do, even a negative one."""
    clock = OperatorClock()
    assert clock.is_time_to_emit(-5, now=0, interval_ms=0)
    clock.last_close_time = 10
    assert not clock.is_time_to_emit(10, now=0, interval_ms=0)
    assert clock.is_time_to_emit(11, now=0, interval_ms=0)


def test_the_interval_counts_from_the_last_attempt() -> None:
    """Also from one that had nothing to emit; missed intervals do not add up."""
    clock = OperatorClock()
    assert clock.is_time_to_emit(1, now=5_000, interval_ms=1_000)
    assert not clock.is_time_to_emit(2, now=5_999, interval_ms=1_000)
    assert clock.is_time_to_emit(3, now=6_000, interval_ms=1_000)
    clock.last_close_time = 9
    assert not clock.is_time_to_emit(9, now=7_000, interval_ms=1_000)
    assert not clock.is_time_to_emit(10, now=7_500, interval_ms=1_000)
