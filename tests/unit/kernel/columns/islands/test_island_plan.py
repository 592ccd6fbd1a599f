"""Which nodes run record by record between columns, and what keeps a task from columns at all."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from tests.unit.kernel.columns.test_planner import (
    Build,
    noted,
    numbers,
    planned,
    table,
    uncached,
    windowed,
)


def spoken(builder: ps.StreamsBuilder) -> Any:
    """A stream behind a function that does something."""
    return numbers(builder).peek(print, "spoken")


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (
            lambda b: numbers(b).filter(noted, "it"),
            "its predicate is a Python function that uses 'append'",
        ),
        (
            lambda b: numbers(b).map_values(lambda v: noted(v), "it"),
            "its function is a Python function that calls 'noted', which uses 'append'",
        ),
        (lambda b: numbers(b).peek(print, "it"), "Peek has no column form"),
        (lambda b: numbers(b).map(noted, "it"), "its function is a Python function that uses"),
        (
            lambda b: numbers(b).split("it").branch(noted).default_branch(),
            "a predicate is a Python function",
        ),
        (lambda b: numbers(b).select_key(noted, "it"), "its function is a Python function"),
        (
            lambda b: numbers(b).flat_map_values(lambda v: [noted(v)], "it"),
            "its function is a Python function",
        ),
        (lambda b: uncached(b).peek(print, "it"), "Peek has no column form"),
    ],
)  # fmt: skip
def test_function_that_may_do_anything_is_an_island(build: Build, reason: str) -> None:
    """Everything else runs over columns, and the plan says why this node does not."""
    plan = planned(build)
    assert plan.is_vectorised
    (why,) = plan.by_record.values()
    assert reason in why


def test_nodes_between_two_functions_are_part_of_their_island() -> None:
    """Both functions are called for one record before the first is called for the next."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = spoken(builder).map_values(ps.col("n"), "between")
        stream.filter(noted, "noted").map_values(str, "behind").to("out", value="string")

    plan = planned(build)
    assert list(plan.by_record) == ["spoken", "between", "noted"]
    assert plan.by_record["between"] == "it is between nodes that do"


def test_functions_on_two_ways_are_one_island() -> None:
    """A record takes the first way, then the second; only then comes the next record."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder).filter(ps.col("n") > 0, "before")
        stream.peek(print, "one").to("out")
        stream.map_values(ps.col("n"), "two").peek(print, "three").to("other")

    plan = planned(build)
    assert len(plan.islands) == 1
    assert sorted(plan.by_record) == ["one", "three", "two"]


def test_functions_on_both_sides_of_a_store_keep_their_task_from_columns() -> None:
    """Record by record, the second one is called before the first one sees the next record."""

    def build(builder: ps.StreamsBuilder) -> None:
        counts = ps.Materialized(name="counts", caching=False)
        counted = spoken(builder).group_by_key().count(counts)
        counted.to_stream().peek(print).to("out", value="long")

    (reason,) = planned(build).why_not.values()
    assert "is between functions that may have side effects, which take turns" in reason


class Passing(ps.Processor[Any, Any, Any, Any]):
    """Forwards what it gets."""

    def process(self, record: Any) -> None:
        self.context.forward(record)


def test_processor_is_an_island() -> None:
    """With all nodes between it and other functions."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = spoken(builder).map_values(ps.col("n"), "between")
        stream.process(Passing, name="p").map_values(str, "behind").to("out", value="string")

    plan = planned(build)
    assert plan.by_record == {
        "spoken": "Peek has no column form",
        "between": "it is between nodes that do",
        "p": "a processor may do anything",
    }


class PassingValues(ps.FixedKeyProcessor[Any, Any, Any]):
    """The same, for streams whose keys stay."""

    def process(self, record: Any) -> None:
        self.context.forward(record)


def joined_with_itself(builder: ps.StreamsBuilder, stream: Any) -> Any:
    windows = ps.JoinWindows.of_time_difference_with_no_grace("1s")
    return stream.join(stream, ps.left, windows, key="string", value="json", other_value="json")


def test_inputs_of_a_task_with_a_processor_take_turns() -> None:
    """Each record moves the stream time that the processor may ask for."""

    def build(builder: ps.StreamsBuilder) -> None:
        more = builder.stream("more", key="string", value="json")
        numbers(builder).process(Passing).merge(more).to("out")

    plan = planned(build)
    assert plan.is_vectorised
    assert plan.is_tied


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (
            lambda b: (
                b.table("rows", materialized="rows", key="string", value="json"),
                numbers(b).process(Passing, "rows", name="it"),
            ),
            "its store 'rows' is also used by",
        ),
        (
            lambda b: (
                numbers(b)
                .process(Passing, name="it")
                .merge(b.stream("more", key="string", value="json"))
                .group_by_key()
                .count("counts")
            ),
            "it sees the records of several inputs in turn",
        ),
        (
            lambda b: joined_with_itself(b, numbers(b).process_values(PassingValues, name="it")),
            "a join of streams gathers its records",
        ),
    ],
    ids=["a store that others use", "a cache", "a join"],
)  # fmt: skip
def test_processor_whose_surroundings_show_keeps_its_task_from_columns(
    build: Build, reason: str
) -> None:
    """It would see stores, or stream time, as they are later or earlier."""
    assert reason in planned(build).why_not["it"]


def test_function_behind_a_cache_is_left_to_the_cache() -> None:
    """It is called at the commit, after all calls of the function before the cache."""

    def build(builder: ps.StreamsBuilder) -> None:
        counted = spoken(builder).group_by_key().count("counts").to_stream()
        counted.peek(print, "behind").to("out", value="long")

    plan = planned(build)
    assert plan.is_vectorised
    assert plan.is_handed_off
    assert list(plan.by_record) == ["spoken"]


def test_fold_that_has_seen_the_values_first_gets_copies_of_them() -> None:
    """It looks at them at the end of the batch, when a function may have changed them."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder)
        stream.group_by_key().reduce(max, value="json")
        stream.peek(noted, "noted")

    assert list(planned(build).by_record) == ["noted"]


def test_copies_for_a_fold_do_not_lead_to_themselves_where_paths_meet() -> None:
    """They stand for the same node as the executor behind them, and are not the same."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder)
        stream.filter(ps.value > 0).group_by_key().reduce(max, value="json")
        joined_with_itself(builder, stream.peek(noted, "noted"))

    plan = planned(build)
    assert list(plan.by_record) == ["noted"]
    for source in plan.sources.values():
        for executor in source.below():
            assert executor not in executor.children


def test_join_that_has_seen_the_values_first_keeps_them_from_functions() -> None:
    """It puts them in order by itself, so nothing may stand in front of it."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder)
        joined_with_itself(builder, stream)
        stream.peek(noted)

    (reason,) = planned(build).why_not.values()
    assert "gets values first, which a function may change later" in reason


@pytest.mark.parametrize("is_first", [True, False])
def test_count_beside_a_function_does_not_mind(*, is_first: bool) -> None:
    """It keeps no values."""

    def build(builder: ps.StreamsBuilder) -> None:
        stream = numbers(builder)
        for each in (is_first, not is_first):
            if each:
                stream.group_by_key().count("counts")
            else:
                stream.peek(noted)

    assert planned(build).is_vectorised


def test_functions_of_two_inputs_take_turns() -> None:
    """Their calls come in the order of time, so the inputs are merged."""

    def build(builder: ps.StreamsBuilder) -> None:
        numbers(builder).peek(print).to("out", value="json")
        other = builder.stream("other", key="string", value="json")
        other.peek(print).to("copy", value="json")

    plan = planned(build)
    assert plan.is_vectorised
    assert plan.is_tied


def test_functions_of_two_inputs_beside_a_cache_keep_their_task_from_columns() -> None:
    """The fold would send its results once per turn."""

    def build(builder: ps.StreamsBuilder) -> None:
        spoken(builder).group_by_key().count("counts").to_stream().to("out", value="long")
        builder.stream("other", key="string", value="json").peek(print)

    reason = "inputs share functions with side effects, and a node with a cache runs once per batch"
    assert [*planned(build).why_not.values()] == [reason]


@pytest.mark.parametrize(
    "build",
    [
        lambda b: numbers(b).join(table(b), lambda one, other: noted(one)),
        lambda b: numbers(b).group_by_key().reduce(noted, value="json"),
        lambda b: windowed(b).reduce(noted, value="json"),
    ],
)
def test_functions_of_nodes_with_state_are_no_islands(build: Build) -> None:
    """Their records depend on those before, which columns look at all at once."""
    plan = planned(build)
    assert not plan.is_vectorised
    assert not plan.islands
