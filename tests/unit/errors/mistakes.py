"""Programs with one mistake each, as users write them. What they get: tests/golden/errors.txt.

The mistake is in the line that ends with ``# !``: the error has to name that line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock import (
    BufferConfig,
    FixedKeyProcessor,
    FixedKeyRecord,
    Grouped,
    Joined,
    JoinWindows,
    Materialized,
    Named,
    Printed,
    Processor,
    PunctuationType,
    Record,
    Repartitioned,
    Serdes,
    SessionWindows,
    SlidingWindows,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    ValueTransformer,
    WindowedSerdes,
    col,
)
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.testing import MockProcessorContext, rows

Mistake = Callable[[], Any]
MISTAKES: dict[str, dict[str, Mistake]] = {}
#: Mistakes whose error comes without a line of the user's: there is none to name.
WITHOUT_LINE: set[str] = set()


def mistake(chapter: str, *, has_line: bool = True) -> Callable[[Mistake], Mistake]:
    """Files the program under a chapter of the golden file."""

    def register(program: Mistake) -> Mistake:
        MISTAKES.setdefault(chapter, {})[program.__name__] = program
        if not has_line:
            WITHOUT_LINE.add(program.__name__)
        return program

    return register


def run(builder: StreamsBuilder, *values: Any, config: Any = None, **more: Any) -> Any:
    """Pipes the values into topic 'in' and tells how many records were dropped where."""
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.pipe("in", *values, **more)
        return dict(driver.dropped_records)


def store(name: str = "store", value_serde: Any = "long") -> Any:
    return Stores.key_value_store_builder(
        Stores.in_memory_key_value_store(name), "string", value_serde
    )


class Idle(Processor[Any, Any, Any, Any]):
    def process(self, record: Record[Any, Any]) -> None:
        pass


# Functions


@mistake("functions")
def extractor_is_an_expression() -> None:
    StreamsBuilder().stream("orders", timestamp_extractor=col("at"))  # type: ignore[arg-type]  # !


@mistake("functions")
def mapper_takes_three_arguments() -> None:
    stream = StreamsBuilder().stream("in")
    stream.map_values(lambda key, value, context: value)  # !


@mistake("functions")
def predicate_takes_only_the_value() -> None:
    stream = StreamsBuilder().stream("in")
    stream.filter(lambda value: bool(value))  # type: ignore[arg-type, misc]  # !


@mistake("functions")
def joiner_takes_one_argument() -> None:
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("table")
    stream.join(table, lambda left: left)  # !


@mistake("functions")
def initializer_takes_an_argument() -> None:
    grouped = StreamsBuilder().stream("in").group_by_key()
    grouped.aggregate(lambda key: 0, lambda key, value, total: total)  # type: ignore[arg-type, misc]  # !


@mistake("functions")
def reducer_takes_three_arguments() -> None:
    grouped = StreamsBuilder().stream("in").group_by_key()
    grouped.reduce(lambda key, one, other: one)  # type: ignore[arg-type, misc]  # !


@mistake("functions")
def aggregator_returns_nothing() -> None:
    def collect(_: str, value: str, values: list[str]) -> None:
        values.append(value)

    grouped = StreamsBuilder().stream("in").group_by_key()
    grouped.aggregate(list, collect, value=list)  # type: ignore[arg-type, misc]  # !


@mistake("functions")
def mapper_is_a_value() -> None:
    stream = StreamsBuilder().stream("in")
    stream.map_values("upper")  # type: ignore[call-overload]  # !


@mistake("functions")
def mapper_is_none() -> None:
    stream = StreamsBuilder().stream("in")
    stream.map_values(None)  # type: ignore[call-overload]  # !


@mistake("functions")
def function_raises() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", value=Serdes.json())
    stream.map_values(lambda order: order["amount"]).to("out")  # !
    run(builder, {"price": 5}, key="o-17")


@mistake("functions")
def aggregator_raises() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.aggregate(lambda: 0, lambda key, value, total: total + value)  # !
    run(builder, "one", key="k")


@mistake("functions")
def map_returns_no_pair() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map(lambda key, value: value).to("out")  # type: ignore[arg-type, return-value]  # !
    run(builder, "v")


@mistake("functions")
def flat_map_returns_one_record() -> None:
    builder = StreamsBuilder()
    builder.stream("in").flat_map(lambda key, value: (key, value)).to("out")  # !
    run(builder, "v", key="k")


@mistake("functions")
def flat_map_values_returns_none() -> None:
    builder = StreamsBuilder()
    builder.stream("in").flat_map_values(lambda value: None).to("out")  # type: ignore[call-overload]  # !
    run(builder, "v")


@mistake("functions")
def flat_map_values_returns_a_number() -> None:
    builder = StreamsBuilder()
    builder.stream("in").flat_map_values(lambda value: 7).to("out")  # type: ignore[call-overload]  # !
    run(builder, "v")


@mistake("functions")
def table_group_by_returns_no_pair() -> None:
    builder = StreamsBuilder()
    builder.table("in").group_by(lambda key, value: value).count()  # type: ignore[arg-type, return-value]  # !
    run(builder, "v", key="k")


@mistake("functions")
def topic_extractor_returns_none() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to(lambda key, value, context: None)  # type: ignore[arg-type, return-value]  # !
    run(builder, "v")


@mistake("functions")
def partitioner_returns_text() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, n: "first")  # !
    run(builder, "v")


@mistake("functions")
def foreign_key_extractor_raises() -> None:
    builder = StreamsBuilder()
    orders, users = builder.table("in"), builder.table("users")
    orders.join(users, lambda order, user: order, foreign_key=lambda order: order["user"])  # !
    run(builder, "v", key="k")


@mistake("functions")
def handler_returns_nonsense() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: 1 / 0).to("out")  # !
    handler = {"processing.exception.handler": lambda context, record, error: "perhaps"}
    run(builder, "v", config=handler)


# Null keys, tombstones


@mistake("nulls", has_line=False)
def null_key_and_null_value_in_a_count() -> Any:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count()
    return run(builder, (None, "v"), ("k", None), ("k", "v"))


@mistake("nulls", has_line=False)
def null_key_in_a_windowed_count() -> Any:
    builder = StreamsBuilder()
    windows = TimeWindows.of_size_with_no_grace("1m")
    builder.stream("in").group_by_key().windowed_by(windows).count()
    return run(builder, (None, "v"), ("k", None))


@mistake("nulls", has_line=False)
def null_key_before_a_repartition() -> Any:
    builder = StreamsBuilder()
    builder.stream("in").group_by(lambda key, value: None, name="nobody").count()
    return run(builder, ("k", "v"))


@mistake("nulls", has_line=False)
def null_key_in_a_table() -> Any:
    builder = StreamsBuilder()
    builder.table("in")
    return run(builder, (None, "v"))


@mistake("nulls", has_line=False)
def null_key_in_joins() -> Any:
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("table")
    stream.join(table, lambda left, right: left)
    windows = JoinWindows.of_time_difference_with_no_grace("1m")
    stream.join(builder.stream("other"), lambda left, right: left, windows)
    return run(builder, (None, "v"), ("k", None))


@mistake("nulls")
def null_key_in_a_store() -> None:
    class Puts(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.get_state_store("store").put(record.key, 1)

    builder = StreamsBuilder()
    builder.add_state_store(store()).stream("in").process(Puts, "store")  # !
    run(builder, (None, "v"))


@mistake("nulls")
def stream_topic_is_none() -> None:
    builder = StreamsBuilder()
    builder.stream(None)  # type: ignore[arg-type]  # !


@mistake("nulls")
def sink_topic_is_none() -> None:
    stream = StreamsBuilder().stream("in")
    stream.to(None)  # type: ignore[arg-type]  # !


@mistake("nulls")
def merged_stream_is_none() -> None:
    stream = StreamsBuilder().stream("in")
    stream.merge(None)  # type: ignore[arg-type]  # !


@mistake("nulls")
def joined_table_is_none() -> None:
    stream = StreamsBuilder().stream("in")
    stream.join(None, lambda left, right: left)  # type: ignore[arg-type]  # !


# Serdes


@mistake("serdes")
def value_does_not_fit_the_sink() -> None:
    builder = StreamsBuilder()
    lengths = builder.stream("in").map_values(len)
    lengths.to("out")  # !
    run(builder, "four", key="k")


@mistake("serdes")
def key_does_not_fit_the_sink() -> None:
    builder = StreamsBuilder()
    numbers = builder.stream("in").select_key(lambda key, value: len(value))
    numbers.to("out")  # !
    run(builder, "four", key="k")


@mistake("serdes")
def value_has_no_json_form() -> None:
    builder = StreamsBuilder()
    objects = builder.stream("in").map_values(lambda value: object)
    objects.to("out", value=Serdes.json())  # !
    run(builder, "four", key="k")


@mistake("serdes")
def value_does_not_fit_the_repartition_topic() -> None:
    builder = StreamsBuilder()
    lengths = builder.stream("in").map_values(len)
    lengths.group_by(lambda key, value: "all").count("lengths")  # !
    run(builder, "four", key="k")


@mistake("serdes")
def value_does_not_fit_the_store() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.aggregate(str, lambda key, value, total: len(total) + 1, "totals")  # !
    run(builder, "v", key="k")


@mistake("serdes")
def table_value_does_not_fit_its_store() -> None:
    builder = StreamsBuilder()
    table = builder.table("in").map_values(len, "lengths")  # !
    table.to_stream()
    run(builder, "v", key="k")


@mistake("serdes")
def record_cannot_be_decoded() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=Serdes.json()).to("out")  # !
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_bytes("in", b"k", b"{not json", 5)


@mistake("serdes")
def record_has_the_wrong_length() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=int).to("out")  # !
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_bytes("in", b"k", b"five", 5)


@mistake("serdes")
def source_has_no_serde() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=str).to("out", value=str)  # !
    run(builder, "v", config={"default.value.serde": None})


@mistake("serdes")
def store_has_no_serde() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=str, value=str).group_by_key()
    grouped.aggregate(list, lambda key, value, all_: [*all_, value], "lists")  # !
    run(builder, "v", config={"default.value.serde": None, "default.key.serde": None})


@mistake("serdes")
def serde_has_an_unknown_name() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value="strng")  # !


@mistake("serdes")
def serde_is_a_value() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out", value=17)  # type: ignore[arg-type]  # !


@mistake("serdes")
def type_has_no_json_form() -> None:
    Serdes.json(complex)  # !


@mistake("serdes")
def windowed_serde_without_a_size() -> None:
    WindowedSerdes.time_windowed("string", "one minute")  # !


# Time


@mistake("time")
def record_has_a_negative_timestamp() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")  # !
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_input("in", "k", "v", timestamp=-1)


@mistake("time")
def processor_makes_a_negative_timestamp() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(lambda record: Record("k", "v", -5))  # !
    run(builder, "v")


@mistake("time")
def timestamp_extractor_raises() -> None:
    builder = StreamsBuilder()
    builder.stream("in", timestamp_extractor=lambda record, time: record.value["at"])  # !
    run(builder, "v")


@mistake("time")
def timestamp_extractor_returns_text() -> None:
    builder = StreamsBuilder()
    builder.stream("in", timestamp_extractor=lambda record, time: record.value)  # type: ignore[return-value]  # !
    run(builder, "2026-01-01")


@mistake("time")
def window_size_is_no_duration() -> None:
    TimeWindows.of_size_with_no_grace("5 parsecs")  # !


@mistake("time")
def window_size_is_a_float() -> None:
    TimeWindows.of_size_with_no_grace(1.5)  # type: ignore[arg-type]  # !


@mistake("time")
def window_size_is_zero() -> None:
    TimeWindows.of_size_with_no_grace(0)  # !


@mistake("time")
def grace_is_negative() -> None:
    TimeWindows.of_size_and_grace("1m", "-1s")  # !


@mistake("time")
def windows_advance_by_more_than_their_size() -> None:
    TimeWindows.of_size_with_no_grace("1m").advance_by("2m")  # !


@mistake("time")
def sliding_difference_is_negative() -> None:
    SlidingWindows.of_time_difference_with_no_grace(-1)  # !


@mistake("time")
def inactivity_gap_is_negative() -> None:
    SessionWindows.of_inactivity_gap_with_no_grace(-1)  # !


@mistake("time")
def join_window_ends_before_it_starts() -> None:
    JoinWindows.of_time_difference_with_no_grace("1m").after(-70_000)  # !


@mistake("time")
def windows_are_a_number() -> None:
    grouped = StreamsBuilder().stream("in").group_by_key()
    grouped.windowed_by(60_000)  # type: ignore[call-overload]  # !


@mistake("time")
def retention_is_shorter_than_the_window() -> None:
    grouped = StreamsBuilder().stream("in").group_by_key()
    windowed = grouped.windowed_by(TimeWindows.of_size_and_grace("1m", "30s"))
    windowed.count(Materialized(name="counts", retention="1m"))  # !


@mistake("time")
def final_results_of_windows_that_never_close() -> None:
    counts = StreamsBuilder().stream("in").group_by_key().count()
    counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))  # !


@mistake("time")
def suppression_buffer_is_full() -> None:
    builder = StreamsBuilder()
    windows = TimeWindows.of_size_and_grace("1m", "1h")
    counts = builder.stream("in").group_by_key().windowed_by(windows).count()
    full = BufferConfig.max_records(1).shut_down_when_full()
    counts.suppress(Suppressed.until_window_closes(full))  # !
    run(builder, ("a", "v"), ("b", "v"))


@mistake("time")
def punctuation_interval_is_zero() -> None:
    class Ticks(Idle):
        def init(self, context: Any) -> None:
            context.schedule(0, PunctuationType.STREAM_TIME, print)

    builder = StreamsBuilder()
    builder.stream("in").process(Ticks)  # !
    run(builder, "v")


@mistake("time")
def punctuation_starts_at_no_time() -> None:
    class Ticks(Idle):
        def init(self, context: Any) -> None:
            context.schedule("1d", PunctuationType.WALL_CLOCK_TIME, print, "midnight")  # !

    builder = StreamsBuilder()
    builder.stream("in").process(Ticks)
    run(builder, "v")


@mistake("time")
def punctuation_raises() -> None:
    class Ticks(Idle):
        def init(self, context: Any) -> None:
            context.schedule("1s", PunctuationType.STREAM_TIME, lambda now: 1 / (now - now))  # !

    builder = StreamsBuilder()
    builder.stream("in").process(Ticks)
    run(builder, "v")


@mistake("time")
def ttl_of_a_window_store() -> None:
    supplier = Stores.persistent_window_store("windows", "1h", "1m")
    Stores.window_store_builder(supplier).with_ttl("1h")  # !


# Names, parents, stores


@mistake("graph")
def two_operators_with_one_name() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").filter(lambda key, value: True, name="checked")
    stream.filter(lambda key, value: True, name="checked")  # !
    builder.build()


@mistake("graph")
def two_stores_with_one_name() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.count("totals")
    grouped.reduce(max, "totals")  # !
    builder.build()


@mistake("graph")
def topic_is_read_twice() -> None:
    builder = StreamsBuilder()
    builder.stream("in")
    builder.table("in")  # !
    builder.build()


@mistake("graph")
def name_has_a_blank() -> None:
    stream = StreamsBuilder().stream("in")
    stream.filter(lambda key, value: True, name="big orders")  # !


@mistake("graph")
def name_is_empty() -> None:
    Named.as_("")  # !


@mistake("graph")
def processor_wants_an_unknown_store() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(store("last-seen"))
    builder.stream("in").process(lambda record: None, "last-sen")  # !
    builder.build()


@mistake("graph")
def processor_is_not_connected_to_its_store() -> None:
    class Reads(Idle):
        def init(self, context: Any) -> None:
            context.get_state_store("last-seen")

    builder = StreamsBuilder()
    builder.add_state_store(store("last-seen"))
    builder.stream("in").process(Reads)  # !
    run(builder, "v")


@mistake("graph")
def processor_is_its_own_parent() -> None:
    topology = Topology().add_source("source", "in")
    topology.add_processor("loop", lambda record: record, "loop")  # !


@mistake("graph")
def parent_is_unknown() -> None:
    topology = Topology().add_source("source", "in")
    topology.add_sink("sink", "out", "sorce")  # !


@mistake("graph")
def parent_is_a_sink() -> None:
    topology = Topology().add_source("source", "in").add_sink("sink", "out", "source")
    topology.add_processor("after", lambda record: record, "sink")  # !


@mistake("graph")
def processor_has_no_parent() -> None:
    topology = Topology().add_source("source", "in")
    topology.add_processor("alone", lambda record: record)  # !


@mistake("graph")
def source_has_no_topic() -> None:
    Topology().add_source("source")  # !


@mistake("graph")
def source_has_a_pattern_and_a_topic() -> None:
    Topology().add_source("source", "in", re.compile("in-.*"))  # !


@mistake("graph")
def topology_has_two_nodes_of_a_name() -> None:
    topology = Topology().add_source("node", "in")
    topology.add_sink("node", "out", "node")  # !


@mistake("graph")
def store_is_added_to_an_unknown_processor() -> None:
    topology = Topology().add_source("source", "in")
    topology.add_state_store(store(), "proces")  # !


@mistake("graph")
def store_is_no_store() -> None:
    topology = Topology().add_source("source", "in")
    topology.add_state_store("counts")  # type: ignore[arg-type]  # !


@mistake("graph")
def no_stores_to_connect() -> None:
    topology = Topology().add_source("source", "in")
    topology.connect_processor_and_state_stores("source")  # !


@mistake("graph")
def topology_without_a_source() -> None:
    TopologyTestDriver(StreamsBuilder().build())  # !


@mistake("graph")
def streams_of_two_builders() -> None:
    one, other = StreamsBuilder().stream("in"), StreamsBuilder().stream("more")
    one.merge(other)  # !


@mistake("graph")
def unknown_picture_format() -> None:
    Topology().add_source("source", "in").describe("pdf")  # !


@mistake("graph")
def no_topics_at_all() -> None:
    builder = StreamsBuilder()
    builder.stream([])  # !


@mistake("graph")
def branch_after_the_default_branch() -> None:
    split = StreamsBuilder().stream("in").split()
    split.default_branch()
    split.branch(lambda key, value: True)  # !


@mistake("graph")
def repartition_into_no_partitions() -> None:
    stream = StreamsBuilder().stream("in")
    stream.repartition(Repartitioned(num_partitions=0))  # !


@mistake("graph")
def option_of_another_operator() -> None:
    stream = StreamsBuilder().stream("in")
    stream.to("out", Grouped(name="x"))  # type: ignore[arg-type]  # !


@mistake("graph")
def print_to_a_folder_that_is_not_there() -> None:
    stream = StreamsBuilder().stream("in")
    stream.print(Printed.to_file("/no/such/folder/file.txt"))  # !


@mistake("graph")
def store_supplier_of_the_wrong_kind() -> None:
    grouped = StreamsBuilder().stream("in").group_by_key()
    grouped.count(Materialized(store=Stores.persistent_session_store("counts", "1h")))  # !


@mistake("graph")
def window_store_keeps_less_than_a_window() -> None:
    Stores.persistent_window_store("windows", retention_period="1m", window_size="2m")  # !


@mistake("graph")
def store_without_a_name() -> None:
    Stores.in_memory_key_value_store(None)  # type: ignore[arg-type]  # !


@mistake("graph")
def builder_gets_the_wrong_supplier() -> None:
    Stores.session_store_builder(Stores.in_memory_key_value_store("store"))  # type: ignore[arg-type]  # !


# Joins


@mistake("joins")
def streams_joined_without_windows() -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("in"), builder.stream("other")
    left.join(right, lambda one, other: one)  # !


@mistake("joins")
def table_joined_with_windows() -> None:
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("table")
    windows = JoinWindows.of_time_difference_with_no_grace("1m")
    stream.join(table, lambda one, other: one, windows)  # !


@mistake("joins")
def global_table_joined_without_a_key() -> None:
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.global_table("table")
    stream.join(table, lambda one, other: one)  # !


@mistake("joins")
def table_joined_with_a_stream() -> None:
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("table")
    table.join(stream, lambda one, other: one)  # type: ignore[arg-type, misc]  # !


@mistake("joins")
def grace_without_a_versioned_table() -> None:
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("table")
    joined: Joined[Any, Any, Any] = Joined(grace_period="10s")
    stream.join(table, lambda one, other: one, joined=joined)  # !
    builder.build()


@mistake("joins")
def history_is_shorter_than_grace() -> None:
    builder = StreamsBuilder()
    versions = Materialized.as_(Stores.persistent_versioned_key_value_store("rows", "5s"))
    stream, table = builder.stream("in"), builder.table("table", materialized=versions)
    joined: Joined[Any, Any, Any] = Joined(grace_period="10s")
    stream.join(table, lambda one, other: one, joined=joined)  # !
    builder.build()


@mistake("joins")
def topics_of_different_size() -> None:
    builder = StreamsBuilder()
    orders, users = builder.stream("orders"), builder.table("users")
    orders.join(users, lambda order, user: order)  # !
    make_plan(builder.build().graph, {"orders": 4, "users": 6})


# Processors


@mistake("processors")
def supplier_gives_none() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(lambda: None)  # !
    run(builder, "v")


@mistake("processors")
def supplier_gives_one_processor_for_all() -> None:
    builder, idle = StreamsBuilder(), Idle()
    builder.stream("in").process(lambda: idle)  # !
    run(builder, "v")


@mistake("processors")
def processor_is_an_instance() -> None:
    stream = StreamsBuilder().stream("in")
    stream.process(Idle())  # !


@mistake("processors")
def processor_has_no_process() -> None:
    class Empty(Processor[Any, Any, Any, Any]):
        pass

    builder = StreamsBuilder()
    builder.stream("in").process(Empty)  # !
    run(builder, "v")


@mistake("processors")
def processor_function_takes_four_arguments() -> None:
    stream = StreamsBuilder().stream("in")
    stream.process(lambda key, value, timestamp, context: None)  # !


@mistake("processors")
def processor_init_raises() -> None:
    class Fails(Idle):
        def init(self, context: Any) -> None:
            raise OSError("no route to the price service")

    builder = StreamsBuilder()
    builder.stream("in").process(Fails)  # !
    run(builder, "v")


@mistake("processors")
def processor_raises() -> None:
    class Fails(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            raise OSError("no route to the price service")  # !

    builder = StreamsBuilder()
    builder.stream("in").process(Fails)
    run(builder, "v", key="k")


@mistake("processors")
def processor_close_raises() -> None:
    class Fails(Idle):
        def close(self) -> None:
            raise OSError("the price service hung up")

    builder = StreamsBuilder()
    builder.stream("in").process(Fails)  # !
    run(builder)


@mistake("processors")
def forward_to_an_unknown_child() -> None:
    class Sends(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(record, "lates")

    topology = Topology().add_source("source", "in")
    topology.add_processor("split", Sends, "source")  # !
    topology.add_sink("late", "late", "split")
    with TopologyTestDriver(topology) as driver:
        driver.pipe("in", "v", key="k")


@mistake("processors")
def forward_no_record() -> None:
    class Sends(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(("k", "v"))  # type: ignore[arg-type]

    builder = StreamsBuilder()
    builder.stream("in").process(Sends).to("out")  # !
    run(builder, "v", key="k")


@mistake("processors")
def forward_another_key_from_process_values() -> None:
    class Sends(FixedKeyProcessor[Any, Any, Any]):
        def process(self, record: FixedKeyRecord[Any, Any]) -> None:
            self.context.forward(Record("other", record.value, record.timestamp))  # type: ignore[arg-type]

    builder = StreamsBuilder()
    builder.stream("in").process_values(Sends).to("out")  # !
    run(builder, "v", key="k")


@mistake("processors")
def function_returns_no_record() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(lambda record: 5).to("out")  # !
    run(builder, "v", key="k")


@mistake("processors")
def store_gets_a_value_of_another_type() -> None:
    class Puts(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.get_state_store("store").put(record.key, "one")

    builder = StreamsBuilder()
    builder.add_state_store(store()).stream("in").process(Puts, "store")  # !
    run(builder, "v", key="k")


@mistake("processors")
def global_store_is_written_to() -> None:
    class Writes(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.get_state_store("prices").put(record.key, 1)

    builder = StreamsBuilder()
    builder.global_table("prices", materialized="prices")
    builder.stream("in").process(Writes)  # !
    run(builder, "v", key="k")


@mistake("processors")
def transformer_supplier_gives_none() -> None:
    builder = StreamsBuilder()
    table = builder.table("in")
    table.transform_values(lambda: None)  # type: ignore[arg-type, return-value]  # !
    run(builder, "v", key="k")


@mistake("processors")
def transformer_is_none() -> None:
    table = StreamsBuilder().table("in")
    table.transform_values(None)  # type: ignore[arg-type]  # !


@mistake("processors")
def transformer_forwards() -> None:
    class Sends(ValueTransformer):
        def transform(self, key: Any, value: Any) -> Any:
            self.context.forward(Record(key, value, 0))

    builder = StreamsBuilder()
    table = builder.table("in")
    table.transform_values(Sends)  # !
    run(builder, "v", key="k")


# Settings


@mistake("settings", has_line=False)
def setting_is_misspelt() -> None:
    StreamsConfig({"application.id": "app", "comit.interval.ms": 5})


@mistake("settings", has_line=False)
def setting_has_a_wrong_value() -> None:
    StreamsConfig({"application.id": "app", "num.stream.threads": "many"})


@mistake("settings", has_line=False)
def setting_is_too_small() -> None:
    StreamsConfig({"application.id": "app", "num.stream.threads": 0})


@mistake("settings", has_line=False)
def guarantee_is_an_old_one() -> None:
    StreamsConfig({"application.id": "app", "processing.guarantee": "exactly_once"})


@mistake("settings", has_line=False)
def default_serde_is_unknown() -> None:
    builder = StreamsBuilder()
    builder.stream("in")
    run(builder, "v", config={"default.value.serde": "jsn"})


@mistake("settings", has_line=False)
def handler_is_unknown() -> None:
    builder = StreamsBuilder()
    builder.stream("in")
    run(builder, "v", config={"processing.exception.handler": "ignore"})


@mistake("settings", has_line=False)
def timestamp_extractor_is_unknown() -> None:
    builder = StreamsBuilder()
    builder.stream("in")
    run(builder, "v", config={"default.timestamp.extractor": "PayloadTime"})


# The test driver


def copy() -> TopologyTestDriver:
    builder = StreamsBuilder()
    builder.stream("words").to("copies")
    return TopologyTestDriver(builder.build())


@mistake("test driver")
def pipe_into_an_unknown_topic() -> None:
    copy().pipe("word", "v")  # !


@mistake("test driver")
def read_from_an_unknown_topic() -> None:
    copy().read("copy")  # !


@mistake("test driver")
def pipe_a_value_of_another_type() -> None:
    copy().pipe("words", 5)  # !


@mistake("test driver")
def read_with_the_wrong_serde() -> None:
    driver = copy()
    driver.pipe("words", "five")
    driver.create_output_topic("copies", value=int).read_value()  # !


@mistake("test driver")
def read_from_an_empty_topic() -> None:
    copy().create_output_topic("copies").read_value()  # !


@mistake("test driver")
def look_into_an_unknown_store() -> None:
    copy().get_state_store("counts")  # !


@mistake("test driver")
def look_into_a_store_of_another_kind() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts")
    TopologyTestDriver(builder.build()).get_window_store("counts")  # !


@mistake("test driver")
def engine_does_not_exist() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    TopologyTestDriver(builder.build(), engine="column")  # type: ignore[arg-type]  # !


@mistake("test driver")
def run_several_partitions_over_columns() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    TopologyTestDriver(builder.build(), num_partitions={"in": 2}, engine="columns")  # !


@mistake("test driver")
def ask_a_store_without_headers_for_them() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts")
    driver = TopologyTestDriver(builder.build())
    driver.get_timestamped_key_value_store_with_headers("counts")  # !


@mistake("test driver")
def pipe_into_a_partition_that_is_not_there() -> None:
    copy().pipe_input("in", "k", "v", partition=1)  # !


@mistake("test driver")
def pipe_without_a_value() -> None:
    copy().create_input_topic("in").pipe_input(key="k")  # type: ignore[call-overload]  # !


@mistake("test driver")
def hand_over_the_builder() -> None:
    TopologyTestDriver(StreamsBuilder())  # type: ignore[arg-type]  # !


@mistake("test driver")
def give_partitions_to_an_unknown_topic() -> None:
    builder = StreamsBuilder()
    builder.stream("orders").to("out")
    TopologyTestDriver(builder.build(), num_partitions={"order": 4})  # !


@mistake("test driver")
def ask_for_a_store_of_several_partitions() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts")
    TopologyTestDriver(builder.build(), num_partitions={"in": 2}).get_state_store("counts")  # !


@mistake("test driver")
def text_table_has_a_bad_partition() -> None:
    rows("key | partition\nann | first")  # !


@mistake("test driver")
def turn_the_clock_back() -> None:
    copy().advance_wall_clock_time(-5)  # !


@mistake("test driver")
def text_table_has_an_unknown_column() -> None:
    rows("key | valu\nann | 5")  # !


@mistake("test driver")
def text_table_line_is_too_short() -> None:
    rows("key | value\nann")  # !


@mistake("test driver")
def text_table_has_a_bad_time() -> None:
    rows("key | time\nann | noon")  # !


@mistake("test driver")
def text_table_value_does_not_fit_the_serde() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=int)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("in", "key | value\nann | five\n")  # !


@mistake("test driver")
def mock_context_without_time() -> None:
    MockProcessorContext().current_stream_time_ms()  # !


@mistake("test driver")
def mock_context_without_the_store() -> None:
    MockProcessorContext().get_state_store("counts")  # !
