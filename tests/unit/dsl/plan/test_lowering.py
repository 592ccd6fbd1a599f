"""Which nodes typical programs become, in which order and under which names.

Exercises ``cogrouped_kstream``, ``aggregations.cogroup``, ``group_by``, ``topics.repartition``,
``plan.logical`` and ``plan.stream``.
"""

from __future__ import annotations

from typing import Any

from penstock import java
from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.options.stream_options import Consumed, Grouped, Produced, Repartitioned
from penstock.model.windows.definitions import TimeWindows
from penstock.serde.inferred import UNDECLARED
from penstock.topology.nodes import NullKeyFilter, PassThrough, Sink, Source
from tests.unit.dsl.programs import always, graph_of, key_of, lines, value_of


def test_stateless_chain_is_numbered_in_call_order() -> None:
    """One counter, one node per operator."""

    def program(builder: StreamsBuilder) -> None:
        stream = builder.stream("in").filter(always).map_values(str).peek(value_of)
        stream.flat_map_values(str).map(lambda k, v: (k, v)).to("out")

    assert lines(graph_of(program)) == [
        "Source KSTREAM-SOURCE-0000000000",
        "Filter KSTREAM-FILTER-0000000001 <KSTREAM-SOURCE-0000000000",
        "MapValues KSTREAM-MAPVALUES-0000000002 <KSTREAM-FILTER-0000000001",
        "Peek KSTREAM-PEEK-0000000003 <KSTREAM-MAPVALUES-0000000002",
        "FlatMapValues KSTREAM-FLATMAPVALUES-0000000004 <KSTREAM-PEEK-0000000003",
        "Map KSTREAM-MAP-0000000005 <KSTREAM-FLATMAPVALUES-0000000004",
        "Sink KSTREAM-SINK-0000000006 <KSTREAM-MAP-0000000005",
    ]


def test_word_count_repartitions_after_the_new_key() -> None:
    """The topic is named after the store; three numbers go to it unseen."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in").group_by(value_of).count("counts").to_stream().to("out")

    assert lines(graph_of(program)) == [
        "Source KSTREAM-SOURCE-0000000000",
        "SelectKey KSTREAM-KEY-SELECT-0000000001 <KSTREAM-SOURCE-0000000000",
        "NullKeyFilter counts-repartition-filter <KSTREAM-KEY-SELECT-0000000001",
        "Sink counts-repartition-sink <counts-repartition-filter",
        "Source counts-repartition-source",
        "Aggregate KSTREAM-AGGREGATE-0000000002 <counts-repartition-source +counts",
        "ToStream KTABLE-TOSTREAM-0000000006 <KSTREAM-AGGREGATE-0000000002",
        "Sink KSTREAM-SINK-0000000007 <KTABLE-TOSTREAM-0000000006",
    ]


def test_unchanged_key_needs_no_repartition() -> None:
    """Neither do operators that only touch values."""

    def program(builder: StreamsBuilder) -> None:
        stream = builder.stream("in").map_values(str).filter(always).flat_map_values(str)
        stream.process_values(lambda record: record).group_by_key().count()

    assert not graph_of(program).internal_topics


def test_key_change_repartitions_only_where_keys_must_meet() -> None:
    """A change of key alone costs nothing."""

    def program(builder: StreamsBuilder) -> None:
        rekeyed = builder.stream("in").select_key(value_of)
        rekeyed.to("out")
        rekeyed.group_by_key(name="by-value").count()

    assert list(graph_of(program).internal_topics) == ["by-value-repartition"]


def test_named_grouping_shares_its_topic_between_aggregations() -> None:
    """Unnamed ones get a topic per aggregation, called after the store."""

    def program(builder: StreamsBuilder, name: str | None) -> None:
        grouped = builder.stream("in").group_by(value_of, name=name)
        grouped.count("one")
        grouped.count("two")

    assert list(graph_of(lambda b: program(b, "both")).internal_topics) == ["both-repartition"]
    assert list(graph_of(lambda b: program(b, None)).internal_topics) == [
        "one-repartition",
        "two-repartition",
    ]


def test_serdes_follow_the_stream_until_they_cannot() -> None:
    """A changed key or value has a type that no one knows, unless it is annotated."""

    def program(builder: StreamsBuilder) -> None:
        stream = builder.stream("in", key=str, value=int)
        stream.filter(always).to("same")
        stream.map_values(str).to("value-changed")
        stream.select_key(value_of).to("key-changed")
        stream.map(lambda k, v: (v, k)).to("both-changed")
        stream.to("given", Produced.with_("bytes"))

    sinks = {n.topic: n for n in graph_of(program).nodes.values() if isinstance(n, Sink)}
    known = {
        topic: (sink.key_serde != UNDECLARED, sink.value_serde != UNDECLARED)
        for topic, sink in sinks.items()
    }
    assert known == {
        "same": (True, True),
        "value-changed": (True, False),
        "key-changed": (False, True),
        "both-changed": (False, False),
        "given": (True, True),
    }


def test_repartition_keeps_the_value_serde_and_forgets_the_key_serde() -> None:
    """As Kafka Streams does it: only the value serde is inherited by the topic."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in", key=str, value=str).repartition(name="r", num_partitions=4).to("out")

    graph = graph_of(program)
    source = graph.nodes["r-repartition-source"]
    assert isinstance(source, Source)
    assert source.reads_internal
    assert source.key_serde is None
    assert source.value_serde is not None
    assert graph.internal_topics == {"r-repartition": 4}


def test_select_key_with_repartitioned_repartitions_at_once() -> None:
    """Then a later grouping finds the keys in place."""

    def program(builder: StreamsBuilder) -> None:
        rekeyed = builder.stream("in").select_key(value_of, Repartitioned.as_("r"))
        rekeyed.group_by_key().count()

    assert list(graph_of(program).internal_topics) == ["r-repartition"]


def test_left_join_lets_null_keys_through_the_repartition() -> None:
    """A record without a key has no partner, and a left join keeps it."""

    def program(builder: StreamsBuilder, method: str) -> None:
        table = builder.table("users")
        stream = builder.stream("in").select_key(value_of)
        getattr(stream, method)(table, lambda left, right: left, name="j")

    strict = graph_of(lambda b: program(b, "join")).nodes["j-repartition-filter"]
    relaxed = graph_of(lambda b: program(b, "left_join")).nodes["j-repartition-filter"]
    assert isinstance(strict, NullKeyFilter)
    assert isinstance(relaxed, PassThrough)


def test_merge_has_both_parents_and_sources() -> None:
    """Records of both streams meet in one node."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("a").merge(builder.stream("b"), name="both").to("out")

    merge = graph_of(program).nodes["both"]
    assert merge.parents == ("KSTREAM-SOURCE-0000000000", "KSTREAM-SOURCE-0000000001")


def test_same_topic_twice_is_read_once() -> None:
    """Two streams of a topic become two branches of one source."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in").to("one")
        builder.stream("in").to("two")

    assert lines(graph_of(program)) == [
        "Source KSTREAM-SOURCE-0000000000",
        "Sink KSTREAM-SINK-0000000001 <KSTREAM-SOURCE-0000000000",
        "Sink KSTREAM-SINK-0000000003 <KSTREAM-SOURCE-0000000000",
    ]


def test_table_has_a_store_only_if_someone_needs_it() -> None:
    """Reading a table back is what needs one."""
    unread = graph_of(lambda b: b.table("t").to_stream().to("out"))
    assert not unread.stores
    named = graph_of(lambda b: b.table("t", materialized="kept"))
    assert list(named.stores) == ["kept"]
    joined = graph_of(lambda b: b.stream("s").join(b.table("t"), lambda left, right: left))
    assert list(joined.stores) == ["t-STATE-STORE-0000000001"]


def test_to_table_repartitions_a_changed_key() -> None:
    """A table's rows live where their key belongs."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in").select_key(value_of).to_table("rows", name="latest")

    assert lines(graph_of(program))[-2:] == [
        "Source latest-repartition-source",
        "TableSource latest <latest-repartition-source +rows",
    ]


def test_global_table_has_a_store_outside_all_tasks() -> None:
    """Its topic is its changelog; it belongs to no sub-topology."""
    graph = graph_of(lambda b: b.global_table("g", key=str, value=str))
    (store,) = graph.global_stores.values()
    assert (store.topic, store.spec.logging) == ("g", False)
    assert not graph.stores


def test_through_writes_and_reads_the_users_topic() -> None:
    """The older spelling of a repartition, with a topic of the user's."""
    graph = graph_of(lambda b: java.through(b.stream("in"), "between").to("out"))
    assert lines(graph) == [
        "Source KSTREAM-SOURCE-0000000000",
        "Sink KSTREAM-SINK-0000000001 <KSTREAM-SOURCE-0000000000",
        "Source KSTREAM-SOURCE-0000000002",
        "Sink KSTREAM-SINK-0000000003 <KSTREAM-SOURCE-0000000002",
    ]


def test_cogroup_shares_one_store() -> None:
    """One aggregation per stream, one table."""

    def program(builder: StreamsBuilder) -> None:
        one, two = builder.stream("a").group_by_key(), builder.stream("b").group_by_key()
        one.cogroup(_add).cogroup(two, _add).aggregate(int, "total", "sum").to_stream().to("out")

    assert lines(graph_of(program))[2:5] == [
        "Aggregate sum-cogroup-agg-0 <KSTREAM-SOURCE-0000000000 +total",
        "Aggregate sum-cogroup-agg-1 <KSTREAM-SOURCE-0000000001 +total",
        "TablePassThrough sum-cogroup-merge <sum-cogroup-agg-0 <sum-cogroup-agg-1",
    ]


def test_every_node_knows_the_users_line() -> None:
    """Errors at run time name it."""
    graph = graph_of(lambda b: b.stream("in").filter(always).group_by(key_of).count())
    assert {str(node.site).partition(":")[0] for node in graph.nodes.values()} == {
        "test_lowering.py"
    }


def test_option_objects_and_keywords_build_the_same() -> None:
    """Two spellings, one topology."""

    def with_options(builder: StreamsBuilder) -> None:
        stream = builder.stream("in", Consumed(name="s", key="string", value="long"))
        stream.group_by(value_of, Grouped(name="g", key="long")).count()

    def with_keywords(builder: StreamsBuilder) -> None:
        stream = builder.stream("in", key="string", value="long", name="s")
        stream.group_by(value_of, name="g", key="long").count()

    assert lines(graph_of(with_options)) == lines(graph_of(with_keywords))


def test_emit_on_close_is_written_to_the_node() -> None:
    """A final result is a matter of the node, not of the user's function."""

    def program(builder: StreamsBuilder) -> None:
        windows = TimeWindows.of_size_with_no_grace("1m")
        windowed = builder.stream("in").group_by_key().windowed_by(windows)
        windowed.emit_strategy("on_window_close").count(name="final")
        windowed.count(name="updates")

    nodes: Any = graph_of(program).nodes
    assert nodes["final"].emit_final
    assert not nodes["updates"].emit_final


def _add(key: Any, value: Any, total: int) -> int:
    return total + 1
