"""The optimizer: fewer topics and stores, with Kafka Streams' results."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.errors import ConfigError, StreamsError
from penstock.model.windows.definitions import JoinWindows
from penstock.topology.graph import Graph
from tests.unit.dsl.programs import Program, always, graph_of, lines, value_of

_WINDOWS = JoinWindows.of_time_difference_with_no_grace("1m")


def _optimized(program: Program, rules: str = "all") -> Graph:
    return graph_of(program, {"topology.optimization": rules})


def _two_groupings(builder: StreamsBuilder) -> None:
    rekeyed = builder.stream("in").select_key(value_of)
    rekeyed.group_by_key().count("one")
    rekeyed.filter(always, name="some").group_by_key().count("two")


def test_repartitions_after_one_key_change_become_one() -> None:
    """It has the name of the first, and comes right after the change of key."""
    assert list(graph_of(_two_groupings).internal_topics) == ["one-repartition", "two-repartition"]
    graph = _optimized(_two_groupings)
    assert list(graph.internal_topics) == ["one-repartition"]
    assert graph.nodes["some"].parents == ("one-repartition-source",)


def test_value_change_between_keeps_its_repartition() -> None:
    """The topic would need another value serde."""

    def program(builder: StreamsBuilder) -> None:
        rekeyed = builder.stream("in").select_key(value_of)
        rekeyed.group_by_key().count("one")
        rekeyed.map_values(str).group_by_key().count("two")

    assert len(_optimized(program).internal_topics) == 2


def test_explicit_repartition_is_never_merged() -> None:
    """The user asked for it."""

    def program(builder: StreamsBuilder) -> None:
        rekeyed = builder.stream("in").select_key(value_of)
        rekeyed.group_by_key().count("one")
        rekeyed.repartition("mine").group_by_key().count("two")

    assert list(_optimized(program).internal_topics) == ["one-repartition", "mine-repartition"]


def test_shared_step_between_fails_as_in_kafka_streams() -> None:
    """The first repartition to be replaced takes the shared step along; the second misses it."""

    def program(builder: StreamsBuilder) -> None:
        rekeyed = builder.stream("in").select_key(value_of).process(lambda record: record)
        rekeyed.group_by_key().count("one")
        rekeyed.group_by_key().count("two")

    with pytest.raises(StreamsError) as caught:
        _optimized(program, "merge.repartition.topics")
    assert caught.value.code == "no-key-changing-child"


def test_source_topic_serves_as_the_tables_changelog() -> None:
    """What the changelog would have is in the topic already."""
    program: Program = lambda b: b.table("users", materialized="users")  # noqa: E731
    assert graph_of(program).source_changelogs == {}
    graph = _optimized(program, "reuse.ktable.source.topics")
    assert graph.source_changelogs == {"users": "users"}
    assert not graph.stores["users"].logging


def test_self_join_has_one_store() -> None:
    """Both sides are the same records."""

    def program(builder: StreamsBuilder) -> None:
        stream = builder.stream("in")
        stream.join(stream, lambda left, right: left, _WINDOWS, name="self")

    assert len(graph_of(program).stores) == 2
    graph = _optimized(program, "single.store.self.join")
    assert len(graph.stores) == 1
    assert [line.partition(" ")[0] for line in lines(graph)] == [
        "Source",
        "StreamJoinWindow",
        "StreamSelfJoin",
    ]


def test_rules_are_a_list() -> None:
    """Blanks around the commas do not count."""
    rules = "merge.repartition.topics, reuse.ktable.source.topics"
    assert len(_optimized(_two_groupings, rules).internal_topics) == 1


@pytest.mark.parametrize("rules", ["most", "all,merge.repartition.topics", ""])
def test_unknown_rule_is_refused(rules: str) -> None:
    """A typo would leave the program unoptimized."""
    with pytest.raises(ConfigError) as caught:
        _optimized(_two_groupings, rules)
    assert "topology.optimization" in caught.value.message


def test_building_does_not_change_the_program() -> None:
    """The same builder can build with and without optimization, and go on."""
    builder = StreamsBuilder()
    _two_groupings(builder)
    first = lines(builder.build().graph)
    builder.build({"topology.optimization": "all"})
    assert lines(builder.build().graph) == first


def test_merged_key_changes_share_the_repartition_after_the_merge() -> None:
    """The repartition moves right behind the merge."""

    def program(builder: StreamsBuilder) -> None:
        one = builder.stream("a").select_key(value_of)
        two = builder.stream("b").select_key(value_of)
        merged = one.merge(two, name="both")
        merged.group_by_key().count("one")
        merged.filter(always).group_by_key().count("two")

    graph: Any = _optimized(program)
    assert list(graph.internal_topics) == ["one-repartition"]
    assert graph.nodes["one-repartition-filter"].parents == ("both",)
