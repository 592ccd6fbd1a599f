"""Which joins of streams run over columns, and what one batch of them writes.

Exercises ``stream_join_arms``; the results are held to those of records in ``tests/properties``.
"""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.kernel.columns.planner import ColumnPlan
from penstock.testing import TopologyTestDriver
from tests.unit.kernel.columns.test_planner import planned

WINDOWS = ps.JoinWindows.of_time_difference_and_grace("10s", "5s")
BOTH = ps.struct(one=ps.left["n"], other=ps.right["n"])


def sides(builder: ps.StreamsBuilder) -> tuple[Any, Any]:
    return tuple(builder.stream(name, key="string", value="json") for name in ("left", "right"))  # type: ignore[return-value]


def inner(left: Any, right: Any, joiner: Any = BOTH) -> Any:
    return left.join(right, joiner, WINDOWS, value="json", other_value="json")


def out(stream: Any, topic: str = "out") -> None:
    stream.to(topic, key="string", value="json")


def why_not(build: Any) -> ColumnPlan:
    return planned(lambda builder: build(*sides(builder)))


def test_inputs_that_meet_in_a_join_are_joined() -> None:
    """They need not be merged by time before."""
    plan = why_not(lambda left, right: out(inner(left.filter(ps.col("n") > 0), right)))
    assert plan.is_vectorised
    assert plan.is_joined
    assert not plan.is_tied


def test_joins_in_a_row_are_joined() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        left, right = sides(builder)
        third = builder.stream("third", key="string", value="json")
        out(inner(inner(left, right), third))

    plan = planned(build)
    assert plan.why_not == {}
    assert plan.is_joined
    assert len(plan.sources) == 3


def test_inputs_that_meet_before_their_join_are_not() -> None:
    """The copies on one topic have an order, too."""

    def build(left: Any, right: Any) -> None:
        out(left, "copy")
        out(right, "copy")
        out(inner(left, right))

    assert [*why_not(build).why_not.values()] == ["inputs share topic 'copy' outside of their join"]


def test_stream_that_is_joined_with_itself_is_joined() -> None:
    """A record comes to the left side first, so on the right it finds itself."""
    plan = why_not(lambda left, right: out(inner(left, left.filter(ps.col("n") > 0))))
    assert plan.is_joined
    assert plan.why_not == {}


def test_stream_whose_records_are_doubled_is_not_joined_with_itself() -> None:
    """Both copies come to one side before the first of them comes to the other one."""

    def build(left: Any, right: Any) -> None:
        twice = left.flat_map_values(lambda row: [row, row])
        out(inner(twice, twice.filter(ps.col("n") > 0)))

    reason = "its paths part where one record may become several"
    assert [*why_not(build).why_not.values()] == [reason]


def test_join_behind_a_store_is_not() -> None:
    """A cached fold sends its results at the end of the batch."""

    def build(left: Any, right: Any) -> None:
        counted = left.group_by_key().count("counts").to_stream().map_values(ps.struct(n=ps.value))
        out(inner(counted, right))

    assert any("a join is behind the store of" in why for why in why_not(build).why_not.values())


def test_node_that_asks_where_records_come_from_keeps_a_join_from_columns() -> None:
    """The results of a fold that are left to its cache keep the position of a record."""
    seen: list[Any] = []

    def build(left: Any, right: Any) -> None:
        counted = inner(left, right).group_by_key(key="string").count("counts")
        counted.to_stream().peek(lambda key, value: seen.append(key))

    assert [*why_not(build).why_not.values()] == [
        "a node behind the join asks where records come from"
    ]


@pytest.mark.parametrize("engine", ["records", "columns"])
def test_batch_finds_what_was_stored_and_what_comes_before(engine: Any) -> None:
    """Each pair once, in the order of the later record; too late is not found any more."""
    builder = ps.StreamsBuilder()
    out(inner(*sides(builder)))
    with TopologyTestDriver(builder.build(), engine=engine) as driver:
        driver.pipe_batch({"left": [("a", {"n": 1}, 20_000)], "right": [("b", {"n": 1}, 5_000)]})
        driver.pipe_batch(
            {
                "left": [("a", {"n": 2}, 24_000), ("b", {"n": 3}, 15_001), ("a", {"n": 4}, 90_000)],
                "right": [
                    ("a", {"n": 5}, 21_000), ("a", {"n": 6}, 30_000), ("a", {"n": 7}, 30_001),
                    ("a", {"n": 8}, 90_000), ("a", {"n": 9}, 30_000),
                ],
            }
        )  # fmt: skip
        if engine == "columns":
            assert all(batch.ran_over_columns for batch in driver.batches)
        results = driver.read_records("out")
    found = [(each.value["one"], each.value["other"], each.timestamp) for each in results]
    assert found == [
        (1, 5, 21_000), (2, 5, 24_000), (1, 6, 30_000), (2, 6, 30_000), (2, 7, 30_001),
        (4, 8, 90_000),
    ]  # fmt: skip
