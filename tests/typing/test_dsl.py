"""The types of the DSL: they pass through operators without annotations.

Exercises ``join_keywords``.
"""

from __future__ import annotations

from typing import Any, assert_type

from penstock import (
    Consumed,
    FixedKeyProcessor,
    FixedKeyRecord,
    GlobalKTable,
    JoinWindows,
    KeyValueStore,
    KGroupedStream,
    KStream,
    KTable,
    Processor,
    ProcessorContext,
    Record,
    Serdes,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    TopologyTestDriver,
    Windowed,
)


def test_source_types_come_from_serdes_and_types() -> None:
    """Without any serde records are text, as by default. What else is left open is Any."""
    builder = StreamsBuilder()
    assert_type(builder.stream("a"), KStream[str, str])
    assert_type(builder.stream(["a", "b"], "name"), KStream[str, str])
    assert_type(builder.table("a"), KTable[str, str])
    assert_type(builder.stream("a", key="long"), KStream[Any, Any])
    assert_type(builder.stream("b", key=str, value=int), KStream[str, int])
    consumed = Consumed.with_(Serdes.string(), Serdes.long())
    assert_type(builder.stream("c", consumed), KStream[str, int])
    assert_type(builder.table("d", key=str, value=float), KTable[str, float])
    assert_type(builder.global_table("e", value=int), GlobalKTable[Any, int])


def test_functions_give_the_types_of_the_next_stream() -> None:
    """Lambdas need no annotation."""
    stream = StreamsBuilder().stream("a", key=str, value=int)
    assert_type(stream.filter(lambda key, value: value > 1), KStream[str, int])
    assert_type(stream.map_values(lambda value: value / 2), KStream[str, float])
    assert_type(stream.map_values(lambda key, value: key * value), KStream[str, str])
    assert_type(stream.flat_map_values(lambda value: [str(value)]), KStream[str, str])
    assert_type(stream.map_values(lambda values: values, batch=True), KStream[str, Any])
    assert_type(stream.filter(lambda values: values, batch=True), KStream[str, int])
    assert_type(stream.map(lambda key, value: (value, key)), KStream[int, str])
    assert_type(stream.select_key(lambda key, value: value), KStream[int, int])
    assert_type(stream.map_values_async(_fetched), KStream[str, str])
    assert_type(stream.deduplicate_by_key("1m"), KStream[str, int])
    assert_type(stream.deduplicate_by_key_value(lambda _, n: n % 9, "1m"), KStream[str, int])
    assert_type(stream.group_by(lambda key, value: value), KGroupedStream[int, int])
    branches = stream.split().branch(lambda key, value: value > 1).default_branch()
    assert_type(branches, dict[str, KStream[str, int]])


def test_aggregations_give_typed_tables() -> None:
    """Windows wrap the key."""
    grouped = StreamsBuilder().stream("a", key=str, value=int).group_by_key()
    assert_type(grouped.count(), KTable[str, int])
    assert_type(grouped.reduce(max), KTable[str, int])
    total = grouped.aggregate(float, lambda key, value, total: total + value)
    # An aggregator that returns None deletes the row.
    rest = grouped.aggregate(float, lambda key, value, total: (total - value) or None)
    assert_type(total, KTable[str, float])
    assert_type(rest, KTable[str, float])
    windows = TimeWindows.of_size_with_no_grace("1m")
    assert_type(grouped.windowed_by(windows).count(), KTable[Windowed[str], int])
    sessions = SessionWindows.of_inactivity_gap_with_no_grace("1m")
    assert_type(grouped.windowed_by(sessions).reduce(min), KTable[Windowed[str], int])


def test_joins_take_the_joiners_type() -> None:
    """Whatever the other side is."""
    builder = StreamsBuilder()
    stream = builder.stream("a", key=str, value=int)
    joined = stream.join(builder.table("b", key=str, value=str), _describe)
    assert_type(joined, KStream[str, str])
    names, counts = builder.stream("n", key=str, value=str), builder.table("c", key=str, value=int)
    windows = JoinWindows.of_time_difference_with_no_grace("1m")
    pairs = stream.join(names, lambda number, name: (number, name), windows)
    assert_type(pairs, KStream[str, tuple[int, str]])
    keyed = stream.join(counts, lambda key, number, count: {key: number + count})
    assert_type(keyed, KStream[str, dict[str, int]])
    open_ended = stream.left_join(names, lambda number, name: name, windows, name="left")
    assert_type(open_ended, KStream[str, str | None])
    tables = counts.outer_join(builder.table("d", key=str, value=float), lambda a, b: (a, b))
    assert_type(tables, KTable[str, tuple[int | None, float | None]])
    foreign = counts.join(
        builder.table("e", key=int, value=str), lambda a, b: b * a, foreign_key=lambda count: count
    )
    assert_type(foreign, KTable[str, str])


def test_a_table_s_stream_has_the_types_of_the_table() -> None:
    """Windows stay around the key, unless a function makes another one."""
    grouped = StreamsBuilder().stream("a", key=str, value=int).group_by_key()
    counts = grouped.windowed_by(TimeWindows.of_size_with_no_grace("1m")).count()
    assert_type(counts.to_stream(), KStream[Windowed[str], int])
    assert_type(counts.to_stream(lambda key, count: key.key), KStream[str, int])


class Lengths(Processor[str, str, str, int]):
    """Uses a store, with types."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.seen: KeyValueStore[str, int] = context.get_state_store("seen")

    def process(self, record: Record[str, str]) -> None:
        assert_type(self.seen.get(record.key), int | None)
        self.context.forward(record.with_value(len(record.value)))


class Halves(FixedKeyProcessor[str, int, float]):
    """Keeps its keys."""

    def process(self, record: FixedKeyRecord[str, int]) -> None:
        self.context.forward(record.with_value(record.value / 2))


def _twice(record: Record[str, str]) -> list[Record[str, int]]:
    return [record.with_value(1), record.with_value(2)]


def test_processors_give_the_types_that_they_forward() -> None:
    """A class, a function that makes one, or a function of a record."""
    stream = StreamsBuilder().stream("a")
    assert_type(stream.process(Lengths, "seen"), KStream[str, int])
    assert_type(stream.process(lambda: Lengths(), "seen"), KStream[str, int])
    assert_type(stream.process(_twice), KStream[str, int])
    lengths = stream.process(Lengths)
    assert_type(lengths.process_values(Halves), KStream[str, float])


def test_stores_of_the_test_driver_have_the_methods_of_their_kind() -> None:
    """Editors can complete them."""
    builder = StreamsBuilder()
    builder.stream("a").group_by_key().count("counts")
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("a", ("k", "v"))
        store = driver.get_key_value_store("counts")
        assert_type(store, KeyValueStore[Any, Any])
        assert store.get("k") == 1


def _describe(number: int, name: str) -> str:
    return f"{name}{number}"


async def _fetched(value: int) -> str:
    return str(value)
