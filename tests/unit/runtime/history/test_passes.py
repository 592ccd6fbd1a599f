"""Which sub-topology runs when: ``penstock.runtime.history.passes``."""

import re
from typing import Any

import pytest

import penstock as ps
from penstock.errors import TopologyError
from penstock.runtime.history.passes import PassPlan, plan_passes


def plan(builder: ps.StreamsBuilder, *given: str, partitions: int = 2) -> PassPlan:
    graph = builder.build().graph
    topics = {t for node in graph.nodes.values() for t in getattr(node, "topics", ())}
    return plan_passes(graph, dict.fromkeys({*topics, *given}, partitions), given or topics)


def shown(found: PassPlan) -> list[tuple[Any, ...]]:
    return [(each.part.id, each.topics, each.writes, each.is_last) for each in found.passes]


def test_a_repartition_topic_divides_a_topology_into_passes() -> None:
    """The pass that reads a topic comes behind the one that writes it."""
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in", key=str, value=str).group_by(lambda k, v: v, key=str)
    grouped.count("counts")
    found = plan(builder, partitions=3)
    topic = "counts-repartition"
    assert shown(found) == [(0, ("in",), (topic,), True), (1, (topic,), (), True)]
    assert found.input_topics == ("in",)
    assert [each.tasks for each in found.passes] == [3, 3]


def test_a_foreign_key_join_runs_its_left_side_twice() -> None:
    """First for its questions, and again with the answers."""
    builder = ps.StreamsBuilder()
    left = builder.table("left", key=str, value=str)
    right = builder.table("right", key=str, value=str)
    left.join(right, lambda a, b: a + b, foreign_key=lambda value: value[:1])
    found = plan(builder)
    assert [(each.part.id, each.is_last) for each in found.passes] == [
        (0, False), (1, True), (0, True),
    ]  # fmt: skip
    assert found.passes[0].topics == ("left",)
    assert found.feeds_itself


def test_a_topic_of_the_program_that_it_writes_is_no_input() -> None:
    """What the topology writes there is what it reads."""
    builder = ps.StreamsBuilder()
    builder.stream("in", key=str, value=str).to("middle")
    builder.stream("middle", key=str, value=str).to("out")
    found = plan(builder)
    assert found.input_topics == ("in",)
    assert found.written == {"middle"}


def test_a_topology_whose_results_come_back_is_refused() -> None:
    """What it wrote decides through a store what it writes next."""
    builder = ps.StreamsBuilder()
    totals = builder.table("totals", key=str, value=str)
    builder.stream("in", key=str, value=str).left_join(totals, lambda a, b: a).to("totals")
    with pytest.raises(TopologyError, match="batch-feedback") as raised:
        plan(builder)
    assert "'totals'" in str(raised.value)


def test_sub_topologies_that_only_share_tasks_do_not_wait_for_each_other() -> None:
    """Each writes what the other reads, but not because of it."""
    builder = ps.StreamsBuilder()
    one, two = builder.stream("one", key=str, value=str), builder.stream("two", key=str, value=str)
    one.to("from-one")
    two.to("from-two")
    builder.stream("from-two", key=str, value=str).merge(one).to("out")
    builder.stream("from-one", key=str, value=str).merge(two).to("out")
    writes = [each.writes for each in plan(builder).passes if each.writes]
    assert sorted(writes) == [("from-one",), ("from-two",)]


def test_a_pattern_reads_the_given_topics_that_match() -> None:
    """Without a broker, what is given says which topics there are."""
    builder = ps.StreamsBuilder()
    builder.stream(re.compile("in-.*"), key=str, value=str).to("out")
    assert plan(builder, "in-b", "in-a").input_topics == ("in-a", "in-b")
    with pytest.raises(TopologyError, match="missing-source-topic"):
        plan(builder, "other")


def test_global_stores_have_a_pass_for_their_rows() -> None:
    """Tasks that may read them get their records, too."""
    builder = ps.StreamsBuilder()
    names = builder.global_table("names", key=str, value=str)
    stream = builder.stream("in", key=str, value=str)
    stream.join(names, lambda a, b: a + b, key=lambda k, v: k).to("out")
    first, last = plan(builder).passes
    assert (first.global_topics, first.topics) == (("names",), ("in",))
    assert last.is_global
    assert (last.global_topics, last.topics, last.tasks) == (("names",), (), 1)
