"""Which nodes, stores and topics joins become, and what they refuse.

Exercises ``stream_join_stores`` and ``stream_joins``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.operators.joins.foreign_key_join import OnePartition
from penstock.dsl.options.join_options import Joined, StreamJoined, TableJoined
from penstock.dsl.options.materialized import Materialized
from penstock.errors import InvalidArgumentError, StreamsError
from penstock.model.windows.definitions import JoinWindows
from penstock.state.spec import StoreKind
from penstock.state.stores import Stores
from penstock.topology.graph import Graph
from penstock.topology.nodes import ForeignKeyResolve, Sink, StreamJoin, TableJoin
from tests.unit.dsl.programs import graph_of, lines, value_of

MERGE = (
    "TableJoinMerge KTABLE-MERGE-0000000006"
    " <KTABLE-JOINTHIS-0000000007 <KTABLE-JOINOTHER-0000000008"
)
WINDOWS = JoinWindows.of_time_difference_and_grace(10, 5)


def both(left: Any, right: Any) -> Any:
    return left, right


def stream_join(method: str, how: StreamJoined[Any, Any, Any] | None = None) -> Graph:
    def program(builder: StreamsBuilder) -> None:
        left, right = builder.stream("l"), builder.stream("r")
        getattr(left, method)(right, both, WINDOWS, stream_joined=how)

    return graph_of(program)


def test_table_join_reads_the_other_side() -> None:
    """Each arm is connected to the stores of the other, which become materialized for it."""

    def program(builder: StreamsBuilder) -> None:
        builder.table("l").join(builder.table("r"), both)

    assert lines(graph_of(program))[4:] == [
        "TableJoin KTABLE-JOINTHIS-0000000007 <KTABLE-SOURCE-0000000002 +r-STATE-STORE-0000000003",
        "TableJoin KTABLE-JOINOTHER-0000000008 <KTABLE-SOURCE-0000000005 +l-STATE-STORE-0000000000",
        MERGE,
    ]


def test_optional_sides_of_a_table_join_send_old_values() -> None:
    """A tombstone of a row that never was must be told from one that deletes a result."""

    def program(builder: StreamsBuilder) -> None:
        left, right = builder.table("l", name="l"), builder.table("r", name="r")
        left.left_join(right, both)

    nodes: Any = graph_of(program).nodes
    assert (nodes["l"].sends_old, nodes["r"].sends_old) == (True, False)


def test_group_by_after_a_join_makes_all_of_it_send_old_values() -> None:
    """Old results are joined from old rows."""

    def program(builder: StreamsBuilder) -> None:
        joined = builder.table("l").join(builder.table("r"), both)
        joined.group_by(both).count()

    arms = [node for node in graph_of(program).nodes.values() if isinstance(node, TableJoin)]
    assert [arm.sends_old for arm in arms] == [True, True]


def test_materialized_join_has_a_store_even_without_a_name() -> None:
    """Unlike a filter: what says how to keep a join says that it is kept."""

    def program(builder: StreamsBuilder) -> None:
        joined = builder.table("l").join(builder.table("r"), both, materialized=Materialized())
        assert joined.queryable_store_name == "KTABLE-MERGE-STATE-STORE-0000000006"

    assert "KTABLE-MERGE-STATE-STORE-0000000006" in graph_of(program).stores


@pytest.mark.parametrize(
    ("method", "stores"),
    [
        ("join", ["KSTREAM-JOINTHIS-0000000004-store", "KSTREAM-JOINOTHER-0000000005-store"]),
        (
            "left_join",
            [
                "KSTREAM-JOINTHIS-0000000004-store",
                "KSTREAM-OUTEROTHER-0000000005-store",
                "KSTREAM-OUTERSHARED-0000000004-store",
            ],
        ),
        (
            "outer_join",
            [
                "KSTREAM-OUTERTHIS-0000000004-store",
                "KSTREAM-OUTEROTHER-0000000005-store",
                "KSTREAM-OUTERSHARED-0000000004-store",
            ],
        ),
    ],
)
def test_stream_join_stores(method: str, stores: list[str]) -> None:
    """One per side, and one for records that wait for a partner."""
    graph = stream_join(method)
    assert list(graph.stores) == stores
    spec = graph.stores[stores[0]]
    assert (spec.retention_ms, spec.window_size_ms, spec.retain_duplicates) == (25, 20, True)
    assert ("cleanup.policy", "delete") in spec.changelog_config


def test_named_stream_join_names_its_stores_only_if_asked() -> None:
    """``name`` is for processors and repartition topics, ``store_name`` for stores."""
    graph = stream_join("outer_join", StreamJoined(name="j", store_name="s"))
    assert list(graph.stores) == [
        "s-outer-this-join-store", "s-outer-other-join-store", "s-outer-shared-join-store"
    ]  # fmt: skip
    assert list(graph.nodes)[2:] == [
        "j-this-windowed", "j-other-windowed", "j-outer-this-join", "j-outer-other-join", "j-merge"
    ]  # fmt: skip


def test_arms_of_a_stream_join_share_clock_and_outer_store() -> None:
    """Only the optional side's arm emits records of its own without a partner."""
    nodes = stream_join("left_join").nodes.values()
    left, right = [node for node in nodes if isinstance(node, StreamJoin)]
    assert (left.clock, left.outer_store) == (right.clock, right.outer_store)
    assert (left.is_left, left.outer, right.is_left, right.outer) == (True, True, False, False)


def test_own_join_stores_must_fit_the_windows() -> None:
    """They keep duplicates, for exactly as long as the join needs them."""
    fitting = Stores.persistent_window_store("mine", 25, 20, retain_duplicates=True)
    other = Stores.in_memory_window_store("other", 25, 20, retain_duplicates=True)
    graph = stream_join("left_join", StreamJoined.with_stores(other, fitting))
    assert list(graph.stores) == ["other", "mine", "other-left-shared-join-store"]
    assert not graph.stores["other-left-shared-join-store"].persistent
    unfit = [
        (Stores.persistent_window_store("x", 25, 20), "does not retain duplicates"),
        (Stores.persistent_window_store("x", 30, 20, retain_duplicates=True), "keeps 30 ms"),
        (fitting, "both sides"),
    ]
    for store, problem in unfit:
        with pytest.raises(StreamsError, match=problem):
            stream_join("join", StreamJoined.with_stores(store, fitting))


def test_changed_keys_are_repartitioned_per_side() -> None:
    """A name for the join names both topics."""

    def program(builder: StreamsBuilder) -> None:
        left = builder.stream("l").select_key(value_of)
        right = builder.stream("r").select_key(value_of)
        left.join(right, both, WINDOWS, stream_joined=StreamJoined(name="j"))

    assert list(graph_of(program).internal_topics) == ["j-left-repartition", "j-right-repartition"]


def grace_join(grace_ms: int, history: str | None) -> Graph:
    def program(builder: StreamsBuilder) -> None:
        how = None
        if history is not None:
            how = Materialized.as_(Stores.persistent_versioned_key_value_store("v", history))
        table = builder.table("t", materialized=how)
        builder.stream("s").join(table, both, joined=Joined(name="j", grace_period=grace_ms))

    return graph_of(program)


def test_grace_needs_a_table_that_remembers_for_as_long() -> None:
    """A record that waits wants to see the row of its own time."""
    buffer = grace_join(1_000, "1s").stores["j-Buffer"]
    assert (buffer.kind, buffer.retention_ms) == (StoreKind.TIME_ORDERED_BUFFER, 1_000)
    with pytest.raises(InvalidArgumentError, match="keeps a history of 1000 ms"):
        grace_join(1_001, "1s")
    with pytest.raises(InvalidArgumentError, match="needs a versioned table"):
        grace_join(5, None)


def test_joiner_with_three_arguments_sees_the_key() -> None:
    """For every kind of join."""

    def program(builder: StreamsBuilder) -> None:
        left, right = builder.table("l"), builder.table("r")
        joiner = lambda key, this, other: key  # noqa: E731
        left.join(right, joiner)
        left.join(right, joiner, foreign_key=lambda value: value)

    nodes = graph_of(program).nodes.values()
    assert all(node.with_key for node in nodes if isinstance(node, TableJoin | ForeignKeyResolve))


def test_foreign_key_join_names_follow_its_name() -> None:
    """Two topics, one store and ten nodes; the result has a store once someone reads it."""

    def program(builder: StreamsBuilder) -> None:
        left, right = builder.table("l"), builder.table("r")
        joined = left.join(right, both, foreign_key=str, table_joined=TableJoined.as_("j"))
        assert joined.queryable_store_name == "KTABLE-FK-JOIN-OUTPUT-STATE-STORE-0000000019"

    graph = graph_of(program)
    assert list(graph.internal_topics) == [
        "j-subscription-registration-topic",
        "j-subscription-response-topic",
    ]
    assert "j-subscription-store" in graph.stores
    assert "KTABLE-FK-JOIN-OUTPUT-STATE-STORE-0000000019" not in graph.stores
    assert len([name for name in graph.nodes if name.startswith("j-")]) == 10


def test_answers_go_back_to_the_partition_that_asked() -> None:
    """Whatever partitioner wrote the left table's topic."""

    def program(builder: StreamsBuilder) -> None:
        left, right = builder.table("l"), builder.table("r")
        left.left_join(right, both, foreign_key=str, name="j")

    sink = graph_of(program).nodes["j-subscription-response-sink"]
    assert isinstance(sink, Sink)
    assert sink.partitioner is not None


def test_partitioner_of_a_foreign_key_join_chooses_one_partition() -> None:
    """A row cannot subscribe in several places."""
    assert OnePartition(lambda topic, key, value, n: 1)("t", "k", "v", 2) == {1}
    assert OnePartition(lambda topic, key, value, n: value)("t", "k", "v", 2) is None
    with pytest.raises(InvalidArgumentError, match="exactly one"):
        OnePartition(lambda topic, key, value, n: range(n))("t", "k", "v", 2)
