"""How much a slot may process in one stage: it follows how fast results are taken.

Exercises ``exchange.stage_request.Limits``.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.stage_request import Limits

MOST = Limits(64 * 1024 * 1024, 10.0)
FIRST = MOST.at_first()


@pytest.mark.parametrize(
    ("seconds", "bytes_"),
    [(0.1, 4 * FIRST.bytes), (5.0, FIRST.bytes), (20.0, FIRST.bytes // 4)],
    ids=["a short batch", "one of the right length", "a long one"],
)
def test_limits_follow_the_time_of_a_batch(seconds: float, bytes_: int) -> None:
    """Under a quota a batch that was committed late is followed by a smaller one."""
    assert FIRST.bytes < MOST.bytes
    assert FIRST.after_success(MOST, seconds) == MOST._replace(bytes=bytes_)


@given(st.integers(1, 1 << 40), st.lists(st.floats(0.0, 60.0)))
def test_limits_stay_between_the_least_and_the_most(most: int, times: list[float]) -> None:
    """A limit that a user has made small is never exceeded, and never becomes smaller."""
    whole = Limits(most, 10.0)
    limits = whole.at_first()
    for seconds in times:
        limits = limits.after_success(whole, seconds)
        assert min(most, 64 * 1024) <= limits.bytes <= most


def test_a_failure_that_has_nothing_to_do_with_size_changes_nothing() -> None:
    """Only a commit that Kafka did not take in time."""
    assert FIRST.after_failure(StreamsError("worker-lost", "")) == FIRST
    assert FIRST.after_failure(StreamsError("broker-away", "")).bytes == FIRST.bytes // 4
