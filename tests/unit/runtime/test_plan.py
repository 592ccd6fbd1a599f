"""How a topology is laid out: stages, partitions, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock as ps
from penstock.errors import TopologyError
from penstock.runtime.spark.exchange.plan import Plan, make_plan


def plan_of(program: Callable[[ps.StreamsBuilder], object], **partitions: int) -> Plan:
    builder = ps.StreamsBuilder()
    program(builder)
    return make_plan(builder.build().graph, partitions)


def runs(plan: Plan) -> list[tuple[int, int, tuple[str, ...]]]:
    return [(run.stage, run.subtopology, run.topics) for run in plan.runs]


def foreign_key_join(builder: ps.StreamsBuilder) -> None:
    orders, users = builder.table("orders"), builder.table("users")
    orders.join(users, lambda o, u: [o, u], foreign_key=lambda o: o["user"]).to_stream().to("out")


def test_one_subtopology_is_one_stage() -> None:
    """Without a repartition nothing is shuffled."""
    plan = plan_of(lambda b: b.stream("in").map_values(str).to("out"), **{"in": 3})
    assert runs(plan) == [(0, 0, ("in",))]
    assert (plan.stages, plan.tasks(0)) == (1, 3)


def test_a_repartition_topic_is_the_border_of_two_stages() -> None:
    """What is grouped by a new key is processed in the next stage."""
    plan = plan_of(
        lambda b: b.stream("in").group_by(lambda k, v: v).count("c").to_stream().to("out"),
        **{"in": 3},
    )
    assert runs(plan) == [(0, 0, ("in",)), (1, 1, ("c-repartition",))]
    assert plan.consumer_of("c-repartition") == (1, 1)
    assert plan.external_topics == ["in"]
    assert plan.title() == "sub-topology 0 (in) → 1 (c-repartition)"
    assert plan.task_count == plan.tasks(0) + plan.tasks(1)


def test_stores_behind_a_repartition_topic_are_known() -> None:
    """A store that its own join feeds is behind one, too."""

    def two_counts(builder: ps.StreamsBuilder) -> None:
        stream = builder.stream("in")
        stream.group_by_key().count("direct")
        stream.group_by(lambda k, v: v).count("behind")

    assert plan_of(two_counts, **{"in": 3}).stores_behind_repartition == {"behind"}
    joined = plan_of(foreign_key_join, orders=2, users=2)
    assert joined.stores_behind_repartition


def test_tasks_with_one_input_each_wait_for_no_other_topic() -> None:
    """Only then may a batch take records that came after it was planned."""

    def grouped(builder: ps.StreamsBuilder) -> None:
        builder.stream("in").group_by(lambda k, v: v).count("c").to_stream().to("out")

    def with_global_table(builder: ps.StreamsBuilder) -> None:
        names = builder.global_table("names")
        builder.stream("in").join(names, lambda a, b: a, key=lambda k, v: v).to("out")

    assert plan_of(grouped, **{"in": 3}).has_single_inputs
    assert not plan_of(with_global_table, **{"in": 3}, names=1).has_single_inputs
    assert not plan_of(foreign_key_join, orders=2, users=2).has_single_inputs


def test_a_repartition_topic_has_as_many_partitions_as_its_writer() -> None:
    """Unless it is asked for another number."""

    def program(builder: ps.StreamsBuilder) -> None:
        stream = builder.stream("in").select_key(lambda k, v: v)
        stream.repartition(ps.Repartitioned(name="same")).to("a")
        stream.repartition(ps.Repartitioned(name="more", num_partitions=7)).to("b")

    plan = plan_of(program, **{"in": 3})
    assert plan.partitions["same-repartition"] == 3
    assert plan.partitions["more-repartition"] == 7


def test_a_repartitioned_side_of_a_join_takes_the_size_of_the_other() -> None:
    """Else equal keys would not meet in one task."""

    def program(builder: ps.StreamsBuilder) -> None:
        left = builder.stream("clicks").select_key(lambda k, v: v)
        left.join(builder.table("users"), lambda click, user: user).to("out")

    plan = plan_of(program, clicks=2, users=5)
    (internal,) = (topic for topic in plan.partitions if topic.endswith("-repartition"))
    assert plan.partitions[internal] == 5


def test_a_foreign_key_join_runs_its_left_side_twice() -> None:
    """Answers come back to the task that asked: a later stage of the same batch."""
    plan = plan_of(foreign_key_join, orders=2, users=3)
    left, right = plan.consumer_of("orders")[1], plan.consumer_of("users")[1]
    assert [(run.stage, run.subtopology) for run in plan.runs] == [(0, left), (1, right), (2, left)]
    assert plan.tasks(left) == 2
    assert plan.tasks(right) == 3


def test_subtopologies_that_feed_each_other_in_a_circle_are_laid_out() -> None:
    """Inputs are split off until every stage only reads what earlier stages wrote."""

    def program(builder: ps.StreamsBuilder) -> None:
        orders, users = builder.table("orders"), builder.table("users")
        orders.join(users, lambda o, u: [o, u], foreign_key=lambda o: o["user"])
        totals = users.group_by(lambda k, v: ("all", v)).count()
        totals.join(orders, lambda count, order: count).to_stream().to("out")

    plan = plan_of(program, orders=2, users=2)
    seen: dict[str, int] = {topic: run.stage for run in plan.runs for topic in run.topics}
    assert all(topic in seen for topic in plan.graph.internal_topics)
    assert seen["orders"] < max(seen.values())


def test_a_task_runs_once_in_a_stage_whatever_comes_back_to_it() -> None:
    """Two runs in one stage would number what they send alike, and race for the clocks."""

    def program(builder: ps.StreamsBuilder) -> None:
        words = builder.stream("in")
        window = ps.JoinWindows.of_time_difference_with_no_grace("5ms")
        left = words.select_key(lambda k, v: v).join(words, lambda a, b: a, window)
        left.select_key(lambda k, v: v).join(words, lambda a, b: a, window).to("out")
        words.map(lambda k, v: (v, k)).join(words, lambda a, b: a, window).to("out")

    plan = plan_of(program, **{"in": 2})
    pairs = [(run.stage, run.subtopology) for run in plan.runs]
    assert len(pairs) == len(set(pairs))
    assert plan.stages == 3


def test_global_tables_alone_still_have_a_stage() -> None:
    """A slot must run to keep its copy up to date."""
    plan = plan_of(lambda b: b.global_table("rates"), rates=2)
    assert (plan.runs, plan.stages) == ((), 1)


def test_joined_topics_of_different_sizes_are_refused() -> None:
    """The message names the topics, their sizes, the line and the way out."""

    def program(builder: ps.StreamsBuilder) -> None:
        builder.table("a").join(builder.table("b"), lambda a, b: a)

    with pytest.raises(TopologyError, match="co-partitioning") as raised:
        plan_of(program, a=2, b=3)
    text = str(raised.value)
    assert "table 'a' (2 partitions) and table 'b' (3 partitions) cannot be joined" in text
    assert ".repartition(num_partitions=3)" in text
    assert "test_plan.py" in text
