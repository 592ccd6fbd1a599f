"""Programs that cannot be built, and what the builder says about them.

Exercises ``plan.build``.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.options.materialized import Materialized
from penstock.errors import InvalidArgumentError, NullArgumentError, TopologyError
from penstock.processor.processor import Processor
from penstock.state.stores import Stores
from tests.unit.dsl.programs import Program, always, graph_of, lines, value_of


def _fails(program: Program, **config: Any) -> TopologyError:
    with pytest.raises(TopologyError) as caught:
        graph_of(program, **config)
    return caught.value


def _explicit(program: Program) -> TopologyError:
    return _fails(program, ensure__explicit__internal__resource__naming=True)


def test_overlapping_lists_of_topics_are_refused() -> None:
    """A topic's records would be read twice."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream(["a", "b"])
        builder.stream(["b", "c"])

    assert _fails(program).code == "overlapping-topics"


def test_same_topic_with_different_offset_resets_is_refused() -> None:
    """It is read by one consumer, which can start in one place only."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("a", offset_reset="earliest")
        builder.stream("a", offset_reset="latest")

    error = _fails(program)
    assert error.code == "different-offset-resets"
    assert "earliest" in error.message
    assert str(error.at).startswith("test_builder.py:")


def test_equal_patterns_are_read_once() -> None:
    """As equal topics are."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream(re.compile("a.*")).to("one")
        builder.stream(re.compile("a.*")).to("two")

    assert len([line for line in lines(graph_of(program)) if line.startswith("Source")]) == 1


def test_same_name_twice_is_refused() -> None:
    """Names are how nodes find each other."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in").filter(always, name="x").filter(always, name="x")

    assert _fails(program).code == "duplicate-name"


def test_unknown_store_of_a_processor_is_refused() -> None:
    """It must be added before, or be brought along."""
    assert _fails(lambda b: b.stream("in").process(Processor, "none")).code == "unknown-store"


def test_stores_that_a_supplier_brings_are_added_and_connected() -> None:
    """No add_state_store is needed."""
    store = Stores.key_value_store_builder(Stores.in_memory_key_value_store("seen"))

    class Seen(Processor[Any, Any, Any, Any]):
        stores = staticmethod(lambda: [store])

    graph = graph_of(lambda b: b.stream("in").process(Seen, name="p"))
    assert graph.nodes["p"].stores == ("seen",)
    assert graph.stores == {"seen": store}


def test_named_processor_takes_no_number() -> None:
    """Unlike every other operator: as in Kafka Streams."""
    graph = graph_of(lambda b: b.stream("in").process(Processor, name="p").to("out"))
    assert "KSTREAM-SINK-0000000001" in graph.nodes


def test_different_partition_counts_of_joined_repartitions_are_refused() -> None:
    """Equal keys would not meet."""

    def program(builder: StreamsBuilder) -> None:
        left = builder.stream("a").repartition("left", num_partitions=2)
        right = builder.stream("b").repartition("right", num_partitions=3).to_table()
        left.join(right, lambda one, two: one)

    error = _fails(program)
    assert error.code == "co-partitioning"
    assert "'left-repartition' has 2" in error.message


def test_versioned_global_table_is_refused() -> None:
    """A global store keeps no history."""
    supplier = Stores.persistent_versioned_key_value_store("g", "1h")
    assert _fails(lambda b: b.global_table("g", None, supplier)).code == "versioned-global-table"


def test_generated_names_are_all_listed_when_names_must_be_explicit() -> None:
    """One round of naming is enough."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in").group_by(value_of).count()

    error = _explicit(program)
    assert error.code == "generated-names"
    for name in (
        "'KSTREAM-AGGREGATE-STATE-STORE-0000000002'",
        "'KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog'",
        "'KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition'",
    ):
        assert name in error.message


def test_program_with_explicit_names_is_built() -> None:
    """Names of processors need not be given, only those of stores and topics."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in").group_by(value_of, name="by-value").count("counts").to_stream().to("x")

    assert graph_of(program, ensure__explicit__internal__resource__naming=True).stores


def test_missing_arguments_are_refused_by_name() -> None:
    """None is most often a mistake further up."""
    builder = StreamsBuilder()
    for call in (
        lambda: builder.stream(None),  # type: ignore[arg-type]
        lambda: builder.table(None),  # type: ignore[arg-type]
        lambda: builder.add_state_store(None),  # type: ignore[arg-type]
        lambda: builder.stream("a").to(None),  # type: ignore[arg-type]
        lambda: builder.stream("a").merge(None),  # type: ignore[arg-type]
        lambda: builder.stream("a").join(None, max),  # type: ignore[arg-type]
        lambda: builder.stream("a").process(None),
    ):
        with pytest.raises(NullArgumentError):
            call()


def test_argument_of_another_kind_of_join_is_refused() -> None:
    """Windows between a stream and a table would silently do nothing."""
    builder = StreamsBuilder()
    stream, table = builder.stream("a"), builder.table("b")
    with pytest.raises(InvalidArgumentError, match="stream_joined"):
        stream.join(table, max, stream_joined="x")
    with pytest.raises(InvalidArgumentError, match="outer"):
        stream.outer_join(table, max)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="global table"):
        stream.join(builder.global_table("c"), max)


def test_store_serdes_of_a_table_come_from_either_option() -> None:
    """The topic's bytes are the store's bytes."""
    options: Materialized[Any, Any] = Materialized(name="s", key="string", value="long")
    graph = graph_of(lambda b: b.table("t", materialized=options))
    source: Any = graph.nodes["KSTREAM-SOURCE-0000000000"]
    assert source.value_serde == graph.stores["s"].value_serde is not None
