"""Which nodes and stores table operators become, and what they refuse.

Exercises ``kgrouped_table``, ``global_store``, ``table_derivation`` and ``plan.table``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.stream_options import Grouped
from penstock.dsl.options.suppressed import BufferConfig, Suppressed
from penstock.errors import InvalidArgumentError, NullArgumentError, TopologyError
from penstock.model.windows.definitions import TimeWindows
from penstock.processor.processor import ValueTransformer
from penstock.serde.serdes import Serdes
from penstock.state.stores import Stores
from penstock.topology.nodes import (
    Suppress,
    TableFilter,
    TableGroupBy,
    TableMapValues,
    TableNode,
    TableSource,
)
from tests.unit.dsl.programs import always, graph_of, lines


def table_nodes(program: Any) -> dict[type[Any], TableNode]:
    nodes = graph_of(program).nodes.values()
    return {type(node): node for node in nodes if isinstance(node, TableNode)}


def swap(key: Any, value: Any) -> tuple[Any, Any]:
    return value, key


def test_source_has_a_store_only_if_something_needs_it() -> None:
    """A filter alone does not look rows up; a grouping needs old rows."""

    def filtered(builder: StreamsBuilder) -> None:
        builder.table("t").filter(always).to_stream()

    def grouped(builder: StreamsBuilder) -> None:
        builder.table("t").filter(always).group_by(swap).count()

    assert table_nodes(filtered)[TableSource].store is None
    source = table_nodes(grouped)[TableSource]
    assert (source.store, source.sends_old) == ("t-STATE-STORE-0000000000", True)


def test_filter_takes_old_values_that_cost_nothing() -> None:
    """Over a materialized table it asks for them, and so leaves out needless tombstones."""

    def program(builder: StreamsBuilder) -> None:
        builder.table("t", materialized="rows").filter(always)

    nodes = table_nodes(program)
    assert nodes[TableSource].sends_old
    assert nodes[TableFilter].sends_old


def test_store_without_a_name_is_not_made_but_takes_its_number() -> None:
    """Serdes alone do not materialize; the numbers of later operators stay the same."""

    def program(builder: StreamsBuilder) -> None:
        named = builder.table("t").map_values(len, "sizes").queryable_store_name
        unnamed = builder.table("u").map_values(len, value=Serdes.long())
        assert (named, unnamed.queryable_store_name) == ("sizes", None)

    graph = graph_of(program)
    assert list(graph.stores) == ["sizes"]
    assert "KTABLE-MAPVALUES-0000000008" in graph.nodes


def test_mapper_arity_decides_whether_it_sees_the_key() -> None:
    """As for streams."""

    def program(builder: StreamsBuilder) -> None:
        builder.table("t").map_values(lambda key, value: key)

    node = table_nodes(program)[TableMapValues]
    assert isinstance(node, TableMapValues)
    assert node.with_key


def test_versioned_store_makes_later_nodes_ignore_what_is_not_the_latest() -> None:
    """Through unmaterialized tables, too, until a store without versions ends it."""

    def program(builder: StreamsBuilder, *, between: str | None) -> None:
        store = Stores.persistent_versioned_key_value_store("v", "1h")
        table = builder.table("t", materialized=Materialized.as_(store))
        table.map_values(str, between).group_by(swap).count()

    assert table_nodes(lambda b: program(b, between=None))[TableGroupBy].versioned
    assert not table_nodes(lambda b: program(b, between="plain"))[TableGroupBy].versioned


def test_named_grouping_shares_one_topic() -> None:
    """An unnamed one gets a topic per aggregation, called after the store."""

    def program(builder: StreamsBuilder) -> None:
        table = builder.table("t")
        named = table.group_by(swap, Grouped.as_("by-value"))
        named.count()
        named.reduce(max, min)
        other = table.group_by(swap)
        other.aggregate(int, lambda k, v, a: a + 1, lambda k, v, a: a - 1, "sizes")

    assert list(graph_of(program).internal_topics) == [
        "by-value-repartition",
        "sizes-repartition",
    ]


def test_count_keeps_longs() -> None:
    """As in Java, whatever the default serde is."""
    graph = graph_of(lambda builder: builder.table("t").group_by(swap).count("n"))
    assert graph.stores["n"].value_serde == Serdes.long()


def test_transformer_is_connected_to_its_stores() -> None:
    """Its result is materialized if it is named."""

    def program(builder: StreamsBuilder) -> None:
        supplier = Stores.in_memory_key_value_store("seen")
        builder.add_state_store(Stores.key_value_store_builder(supplier))
        builder.table("t").transform_values(ValueTransformer, "seen", materialized="out", name="x")

    nodes = lines(graph_of(program))
    assert nodes[-1] == "TableTransformValues x <KTABLE-SOURCE-0000000002 +out +seen"


def test_suppression_waits_for_the_grace_of_its_windows() -> None:
    """However many operators are in between."""

    def program(builder: StreamsBuilder) -> None:
        windows = TimeWindows.of_size_and_grace(10, 7)
        counts = builder.stream("s").group_by_key().windowed_by(windows).count()
        counts.map_values(str).suppress(Suppressed.until_window_closes().with_name("final"))

    graph = graph_of(program)
    node = graph.nodes["final"]
    assert isinstance(node, Suppress)
    assert (node.wait_ms, node.buffer, node.safe_to_drop_tombstones) == (7, "final-store", True)
    assert not graph.stores["final-store"].persistent


def test_suppression_until_windows_close_needs_windows() -> None:
    """The error shows the way that has none."""

    def program(builder: StreamsBuilder) -> None:
        builder.table("t", name="t").filter(always, name="f").suppress(
            Suppressed.until_window_closes()
        )

    with pytest.raises(TopologyError, match="t->f"):
        graph_of(program)


@pytest.mark.parametrize("between", [False, True])
def test_suppression_of_a_versioned_table_is_refused(between: bool) -> None:
    """Also if the table only inherits its versions."""

    def program(builder: StreamsBuilder) -> None:
        store = Stores.persistent_versioned_key_value_store("v", "1h")
        table: KTable[Any, Any] = builder.table("t", materialized=Materialized.as_(store))
        table = table.filter(always) if between else table
        table.suppress(Suppressed.until_time_limit(5, BufferConfig.unbounded()))

    with pytest.raises(TopologyError, match="versioned"):
        graph_of(program)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda table: table.filter(None), NullArgumentError),
        (lambda table: table.filter(lambda value: True), InvalidArgumentError),
        (lambda table: table.map_values(lambda a, b, c: a), InvalidArgumentError),
        (lambda table: table.transform_values(None), NullArgumentError),
        (lambda table: table.transform_values(ValueTransformer, None), NullArgumentError),
        (lambda table: table.suppress("1s"), InvalidArgumentError),
        (lambda table: table.group_by(lambda value: value), InvalidArgumentError),
        (lambda table: table.group_by(swap).reduce(max, None), NullArgumentError),
        (lambda table: table.group_by(swap).aggregate(int, swap, swap), InvalidArgumentError),
        (lambda table: table.join(None, max), NullArgumentError),
        (lambda table: table.join("other", max), InvalidArgumentError),
        (lambda table: table.join(table, max, table_joined="x"), InvalidArgumentError),
        (lambda table: table.outer_join(table, len), InvalidArgumentError),
    ],
)
def test_wrong_arguments_are_refused_at_once(call: Any, error: type[Exception]) -> None:
    """With the user's line, before anything is built."""
    with pytest.raises(error, match=r"test_tables\.py"):
        call(StreamsBuilder().table("t"))
