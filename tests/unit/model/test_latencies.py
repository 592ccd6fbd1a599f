"""Quantiles of what happened between two states of one counter."""

from __future__ import annotations

import pytest

from penstock.model.latencies import NO_LATENCIES, Latencies, bucket_of, sampled, spread


def of(*values: int) -> Latencies:
    return sampled(values, len(values))


def test_a_quantile_is_within_a_tenth_of_the_value() -> None:
    """Buckets grow by a fifth, so no reader is misled by more than half of that."""
    for value in (1, 7, 42, 300, 9_000, 5_000_000):
        found = of(value).quantile(0.5)
        assert found == pytest.approx(value, rel=0.12, abs=0.5)


def test_a_median_and_a_tail_are_told_apart() -> None:
    """One slow record in a hundred shows in p99 and beyond, and not in p50."""
    values = of(*[20] * 98, 4_000, 4_000)
    assert values.quantile(0.5) == pytest.approx(20, rel=0.12)
    assert values.quantile(0.99) == pytest.approx(4_000, rel=0.12)


def test_a_difference_forgets_what_was_before() -> None:
    """A chart of the last half minute does not show the slow start of an hour ago."""
    before = of(*[90_000] * 500)
    after = before.plus(of(*[10] * 4))
    assert after.since(before) == of(*[10] * 4)
    assert after.since(after) == NO_LATENCIES


def test_nothing_has_no_quantile() -> None:
    """No record in the last half minute is not a latency of zero."""
    assert NO_LATENCIES.quantile(0.99) is None


def test_a_sample_stands_for_all_values() -> None:
    """Of a large batch some records are looked at; the counts are those of the whole batch."""
    values = list(range(100_000))
    found = sampled(spread(values), len(values))
    assert found.total == pytest.approx(100_000)
    assert found.quantile(0.5) == pytest.approx(50_000, rel=0.12)


def test_a_timestamp_of_the_future_is_no_negative_bucket() -> None:
    """Clocks of producers are not those of the application."""
    assert bucket_of(-5) == 0
