"""Which stores have keys that the application itself has placed."""

from __future__ import annotations

import penstock as ps
from penstock.topology.key_placement import is_placed


def test_keys_behind_a_repartition_topic_are_placed() -> None:
    """The application writes such a topic itself, by murmur2 of the key."""
    builder = ps.StreamsBuilder()
    builder.stream("t").group_by(lambda _, value: value).count("counts")
    assert is_placed(builder.build().graph, "counts")


def test_keys_of_a_source_topic_are_not_placed() -> None:
    """Any program may have written them, with any partitioner."""
    builder = ps.StreamsBuilder()
    builder.stream("t").group_by_key().count("counts")
    builder.table("u", materialized=ps.Materialized.as_("table"))
    graph = builder.build().graph
    assert not is_placed(graph, "counts")
    assert not is_placed(graph, "table")
