"""Inputs that meet only behind caches: which tables send when, and what has to take turns."""

from __future__ import annotations

from typing import Any

import penstock as ps
from tests.unit.kernel.columns.test_planner import planned


def table(builder: ps.StreamsBuilder, name: str, *, is_cached: bool = True) -> Any:
    kept = ps.Materialized(name=name)
    kept = kept if is_cached else kept.with_caching_disabled()
    return builder.table(f"topic-{name}", materialized=kept, key="string", value="json")


def both(one: Any, other: Any) -> Any:
    return ps.struct(one=ps.left["n"], other=ps.right["n"])


def turns(build: Any) -> list[str | None]:
    plan = planned(build)
    assert plan.is_vectorised, plan.why_not
    return [each.node.store for each in plan.turns]


def why_not(build: Any) -> str:
    plan = planned(build)
    assert plan.turns == ()
    return next(iter(plan.why_not.values()))


def test_joined_tables_send_in_the_order_of_their_stores() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        one, other = table(builder, "one"), table(builder, "other")
        other.join(one, both(one, other)).to_stream().to("out", value="json")

    assert turns(build) == ["one", "other"]


def test_table_behind_another_waits_for_its_turn() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        one, other = table(builder, "one"), table(builder, "other")
        kept = ps.Materialized(name="both", value="json")
        joined = one.join(other, both(one, other), materialized=kept)
        joined.to_stream().to("out", value="json")

    plan = planned(build)
    assert {each.node.store: each.waits for each in plan.turns} == {
        "one": False,
        "other": False,
        "both": True,
    }
    assert [each.node.store for each in plan.turns][-1] == "both"


def test_a_node_behind_two_tables_has_one_executor() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        one, other = table(builder, "one"), table(builder, "other")
        one.join(other, both(one, other)).to_stream().to("out", value="json")

    below = [each for source in planned(build).sources.values() for each in source.below()]
    by_name: dict[str, set[int]] = {}
    for each in below:
        by_name.setdefault(each.node.name, set()).add(id(each))
    assert {len(ids) for ids in by_name.values()} == {1}


def test_table_without_a_cache_takes_turns_with_the_other_input() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        one, other = table(builder, "one"), table(builder, "other", is_cached=False)
        one.join(other, both(one, other)).to_stream().to("out", value="json")

    assert why_not(build) == (
        "inputs share store 'other', and a node with a cache runs once per batch"
    )


def test_inputs_that_share_a_topic_in_front_of_a_cache_take_turns() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        one, other = table(builder, "one"), table(builder, "other")
        one.join(other, both(one, other)).to_stream().to("out", value="json")
        builder.stream("more", key="string", value="json").to("out")

    assert why_not(build) == (
        "inputs share topic 'out', and a node with a cache runs once per batch"
    )


def test_table_whose_changes_meet_functions_behind_its_cache_is_flushed_by_record() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        one, other = table(builder, "one"), table(builder, "other")
        seen: list[Any] = []
        one.to_stream().for_each(lambda key, value: seen.append(key))
        one.join(other, both(one, other)).to_stream().to("out", value="json")

    assert not planned(build).is_vectorised or planned(build).islands


def test_table_that_is_read_between_its_changes_and_its_flush_takes_single_records() -> None:
    """Its cache has what its store has not: over columns, the other side would not see it."""

    def build(builder: ps.StreamsBuilder) -> None:
        one, other = table(builder, "one"), table(builder, "other")
        kept = ps.Materialized(name="first", key="string", value="json")
        first = one.filter(ps.col("n") > 1, kept)
        first.join(other, both(one, other)).to_stream().to("out", value="json")

    assert why_not(build).endswith(" reads store 'first' before its flush")


def test_table_on_the_way_to_a_join_that_is_flushed_in_time_has_its_turn() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        one = table(builder, "one")
        kept = ps.Materialized(name="first", key="string", value="json")
        first = one.filter(ps.col("n") > 1, kept)
        other = table(builder, "other")
        first.join(other, both(one, other)).to_stream().to("out", value="json")

    assert turns(build) == ["one", "first", "other"]
