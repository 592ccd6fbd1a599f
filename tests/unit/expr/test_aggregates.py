"""Named aggregates over expressions (``expr.aggregate``), in groups, windows and sessions."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import avg, col, collect, count, first, last, max_, min_, sum_
from penstock.errors import InvalidArgumentError


def test_every_aggregate_leaves_unknown_values_out() -> None:
    """One object per key, a member per aggregate."""
    builder = ps.StreamsBuilder()
    (
        builder.stream("in", value="json")
        .group_by_key()
        .aggregate(
            n=count(),
            total=sum_(col("x")),
            least=min_(col("x")),
            most=max_(col("x")),
            mean=avg(col("x")),
            all=collect(col("x")),
            begin=first(col("x")),
            end=last(col("x")),
        )
        .to("out")
    )
    with ps.TopologyTestDriver(builder.build()) as driver:
        for x in (3, None, 1, 5):
            driver.pipe_input("in", "k", {"x": x})
        assert driver.read_map("out")["k"] == {
            "n": 4,
            "total": 9,
            "least": 1,
            "most": 5,
            "mean": {"sum": 9, "count": 3, "avg": 3.0},
            "all": [3, 1, 5],
            "begin": 3,
            "end": 5,
        }


def test_sessions_that_meet_merge_their_aggregates() -> None:
    """A record between two sessions makes one of them."""
    builder = ps.StreamsBuilder()
    (
        builder.stream("in", value="json")
        .group_by_key()
        .windowed_by(ps.SessionWindows.of_inactivity_gap_and_grace(10, 1_000))
        .aggregate(n=count(), total=sum_(col("x")))
        .to("out")
    )
    with ps.TopologyTestDriver(builder.build()) as driver:
        for x, time in ((1, 0), (2, 16), (4, 8)):
            driver.pipe_input("in", "k", {"x": x}, time)
        final = driver.read_records("out")[-1]
    assert final.value == {"n": 3, "total": 7}
    assert (final.key.start, final.key.end) == (0, 16)


def test_functions_and_named_aggregates_do_not_mix() -> None:
    """The error says what to give instead."""
    grouped = ps.StreamsBuilder().stream("in").group_by_key()
    with pytest.raises(InvalidArgumentError) as caught:
        grouped.aggregate(int, lambda k, v, a: a, n=count())
    assert caught.value.code == "bad-aggregate"
    assert "test_aggregates.py:" in str(caught.value)


def test_single_aggregate_needs_no_name() -> None:
    """What is kept is the number itself, in a store of numbers."""
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in", value="json").group_by_key()
    sums = grouped.aggregate(sum_(col("x")), materialized="sums", value="double")
    sums.to_stream().to("out", value="double")
    with ps.TopologyTestDriver(builder.build()) as driver:
        for x in (3, None, 1.5):
            driver.pipe_input("in", "k", {"x": x})
        assert driver.read_values("out") == [3, 3, 4.5]


def test_single_aggregate_stands_alone() -> None:
    """Together with others it would need a name, too."""
    grouped = ps.StreamsBuilder().stream("in", value="json").group_by_key()
    with pytest.raises(InvalidArgumentError, match="without a name"):
        grouped.aggregate(count(), total=sum_(col("x")))


def test_methods_of_expressions_are_the_functions() -> None:
    """``col("x").sum()`` reads as in other libraries, and runs over columns as ``sum_`` does."""
    pairs = [
        (col("x").sum(), sum_(col("x"))), (col("x").min(), min_(col("x"))),
        (col("x").max(), max_(col("x"))), (col("x").avg(), avg(col("x"))),
        (col("x").first(), first(col("x"))), (col("x").last(), last(col("x"))),
        (col("x").collect(), collect(col("x"))),
    ]  # fmt: skip
    for one, other in pairs:
        assert (one.name, one.start, one.step, one.merge) == (
            other.name, other.start, other.step, other.merge,
        )  # fmt: skip
        assert repr(one.of) == repr(other.of) == "col('x')"
    builder = ps.StreamsBuilder()
    numbers = builder.stream("in", value="json").group_by_key()
    numbers.aggregate(total=(col("x") * 2).sum()).to("out")
    with ps.TopologyTestDriver(builder.build(), engine="columns") as driver:
        driver.pipe_batch({"in": [("k", {"x": 1}), ("k", {"x": 4})]})
        assert all(batch.ran_over_columns for batch in driver.batches)
        assert driver.read_map("out")["k"] == {"total": 10}
