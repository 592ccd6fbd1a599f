"""The types of the DSL: they pass through operators without annotations."""

from __future__ import annotations

from typing import Any, assert_type

from penstock import (
    Consumed,
    GlobalKTable,
    KGroupedStream,
    KStream,
    KTable,
    Serdes,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Windowed,
)


def test_source_types_come_from_serdes_and_types() -> None:
    """What is left open is Any, not an error."""
    builder = StreamsBuilder()
    assert_type(builder.stream("a"), KStream[Any, Any])
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
    assert_type(stream.map(lambda key, value: (value, key)), KStream[int, str])
    assert_type(stream.select_key(lambda key, value: value), KStream[int, int])
    assert_type(stream.group_by(lambda key, value: value), KGroupedStream[int, int])
    branches = stream.split().branch(lambda key, value: value > 1).default_branch()
    assert_type(branches, dict[str, KStream[str, int]])


def test_aggregations_give_typed_tables() -> None:
    """Windows wrap the key."""
    grouped = StreamsBuilder().stream("a", key=str, value=int).group_by_key()
    assert_type(grouped.count(), KTable[str, int])
    assert_type(grouped.reduce(max), KTable[str, int])
    total = grouped.aggregate(float, lambda key, value, total: total + value)
    assert_type(total, KTable[str, float])
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


def _describe(number: int, name: str) -> str:
    return f"{name}{number}"
