"""Nodes that several paths reach: ``kernel.columns.paths.meetings``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.kernel.columns.paths.meetings import PathEnd
from penstock.testing import TopologyTestDriver
from tests.unit.kernel.columns.test_planner import numbers, planned, table

Build = Callable[[ps.StreamsBuilder], Any]
Row = tuple[str, dict[str, int], int]

ROWS: list[Row] = [("a", {"n": 1}, 5), ("b", {"n": 2}, 1), ("a", {"n": 3}, 2)]


def sent(build: Build, engine: Any = "columns") -> list[tuple[Any, Any]]:
    """Run one batch of two topics; over columns, nothing else may run it."""
    builder = ps.StreamsBuilder()
    build(builder)
    with TopologyTestDriver(builder.build(), engine=engine) as driver:
        others = [("c", {"n": 4}, 2), ("c", {"n": 5}, 9)] if build is not again else []
        driver.pipe_batch({"in": ROWS, "other": others})
        assert all(batch.ran_over_columns for batch in driver.batches)
        return driver.read_key_values("out")


def copied(stream: Any) -> Any:
    return stream.map_values(lambda row: row)


def again(builder: ps.StreamsBuilder) -> None:
    """Each record is there twice, one behind the other."""
    stream = numbers(builder)
    stream.map_values(lambda row: row["n"]).merge(stream.map_values(lambda row: -row["n"])).to(
        "out", value="json"
    )


def three_arms(builder: ps.StreamsBuilder) -> None:
    """The last path may send several records, because no paths part behind it."""
    stream, others = numbers(builder), builder.stream("other", key="string", value="json")
    twice = stream.flat_map_values(lambda row: [row["n"], row["n"]])
    some = stream.filter(lambda _, row: row["n"] > 1).map_values(lambda row: "some")
    twice.merge(others.map_values(lambda row: row["n"])).merge(some).to("out", value="json")


def met_behind_a_meeting(builder: ps.StreamsBuilder) -> None:
    """Both inputs meet first, and what they become meets again."""
    both = numbers(builder).merge(builder.stream("other", key="string", value="json"))
    both.map_values(lambda row: row["n"]).merge(both.map_values(lambda _: 0)).to(
        "out", value="json"
    )


@pytest.mark.parametrize("build", [again, three_arms, met_behind_a_meeting])
def test_records_come_in_the_order_of_single_records(build: Build) -> None:
    """By the place of the record that they come from, and then by path."""
    assert sent(build) == sent(build, "records")
    assert planned(build).is_joined


def test_a_node_that_is_reached_twice_has_one_executor() -> None:
    plan = planned(again)
    (source,) = plan.sources.values()
    ends = [each for each in source.below() if isinstance(each, PathEnd)]
    assert len(ends) == 2
    assert len({id(each.meeting.target) for each in ends}) == 1


def doubled_before(builder: ps.StreamsBuilder) -> None:
    twice = numbers(builder).flat_map_values(lambda row: [row, row])
    twice.merge(copied(twice)).to("out", value="json")


def merged_again(builder: ps.StreamsBuilder) -> None:
    stream = numbers(builder)
    twice = stream.merge(copied(stream))
    twice.merge(copied(twice)).to("out", value="json")


def counted_and_not(builder: ps.StreamsBuilder) -> None:
    stream = numbers(builder)
    counts = stream.group_by_key().count("counts").to_stream().map_values(str)
    stream.merge(counts).to("out", value="json")


def joined_with_its_table(builder: ps.StreamsBuilder) -> None:
    rows = table(builder)
    both = numbers(builder).merge(rows.to_stream())
    both.join(rows, lambda one, other: one).to("out", value="json")


@pytest.mark.parametrize(
    "build",
    [doubled_before, merged_again, counted_and_not, joined_with_its_table],
)
def test_paths_whose_order_is_not_known_are_left_to_single_records(build: Build) -> None:
    """One record becomes several before the paths part, or one path sends at the end."""
    assert not planned(build).is_vectorised
