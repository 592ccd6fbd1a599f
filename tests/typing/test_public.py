"""The types of the rest of the public API: processors, stores, test driver, errors."""

from __future__ import annotations

from typing import Any, assert_type

import pytest

from penstock import (
    FixedKeyProcessor,
    FixedKeyRecord,
    KStream,
    KTable,
    Processor,
    Record,
    RecordMetadata,
    Serde,
    Serdes,
    Stores,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    ValueAndTimestamp,
    Window,
    Windowed,
)
from penstock.errors import PenstockError, StreamsError
from penstock.testing import MockProcessorContext, Row, TestRecord, rows
from penstock.testing.strategies import Event, in_processing_order


class Lengths(Processor[str, str, str, int]):
    """Knows what it is given and what it may forward."""

    def process(self, record: Record[str, str]) -> None:
        assert_type(record.key, str)
        assert_type(record.with_value(1), Record[str, int])
        assert_type(self.context.record_metadata, RecordMetadata | None)
        self.context.forward(record.with_value(len(record.value)))
        self.context.forward(record)  # type: ignore[arg-type]


class Shouts(FixedKeyProcessor[str, str, str]):
    """Cannot forward another key."""

    def process(self, record: FixedKeyRecord[str, str]) -> None:
        self.context.forward(record.with_value(record.value.upper()))
        self.context.forward(Record("other", "v", 0))  # type: ignore[arg-type]


def test_serdes_know_their_type() -> None:
    """A serde of one type is refused where another is needed."""
    string: Serde[str] = Serdes.string()
    assert_type(string.decode(b"v"), str)
    assert_type(Serdes.long().decode(bytes(8)), int)
    assert_type(Serdes.double().decode(bytes(8)), float)
    with pytest.raises(TypeError):
        string.encode(5)  # type: ignore[arg-type]


def test_streams_keep_their_types_through_topics_and_tables() -> None:
    """What goes in comes out: repartition, merge and to_table change no type."""
    stream = StreamsBuilder().stream("in", key=str, value=int)
    assert_type(stream.repartition(), KStream[str, int])
    assert_type(stream.merge(stream), KStream[str, int])
    assert_type(stream.to_table(), KTable[str, int])
    assert_type(stream.peek(lambda key, value: None), KStream[str, int])
    assert_type(stream.flat_map(lambda key, value: [(value, key)]), KStream[int, str])


def test_tables_know_their_types() -> None:
    """Rows are typed from the topic to the aggregate."""
    builder = StreamsBuilder()
    table = builder.table("rows", key=str, value=int)
    assert_type(table.filter(lambda key, value: value > 1), KTable[str, int])
    grouped = table.group_by(lambda key, value: (value, key))
    assert_type(grouped.count(), KTable[int, int])
    windows = TimeWindows.of_size("1m").grace("10s")
    counts = table.to_stream().group_by_key().windowed_by(windows).count()
    assert_type(counts, KTable[Windowed[str], int])


def test_values_know_their_parts() -> None:
    """Windows, rows and topologies are plain typed values."""
    windowed = Windowed("key", Window(0, 5))
    assert_type(windowed.key, str)
    assert_type(windowed.window.end, int)
    assert_type(ValueAndTimestamp("v", 5).timestamp, int)
    topology = Topology().add_source("source", "in").add_sink("sink", "out", "source")
    assert_type(topology, Topology)
    assert_type(topology.to_json(), str)


def test_driver_gives_rows_and_records() -> None:
    """What a test reads is typed as far as a topology can tell."""
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        assert_type(driver, TopologyTestDriver)
        assert_type(driver.read("out"), list[Row])
        assert_type(driver.read_records("out"), list[TestRecord])
        assert_type(driver.read_key_values("out"), list[tuple[Any, Any]])
        assert_type(rows("key\nann"), list[Row])
        with pytest.raises(TypeError):
            driver.pipe("in", "v", kye="k")  # type: ignore[call-arg]


def test_errors_know_their_parts() -> None:
    """Code, message and line can be asked for."""
    error = StreamsError("code", "message")
    assert_type(error.code, str)
    assert_type(error.at, str | None)
    assert_type(error.located("app.py:3"), StreamsError)
    assert isinstance(error, PenstockError)


def test_stores_and_strategies_are_typed() -> None:
    """Builders say what is wrong with their arguments before anything runs."""
    supplier = Stores.in_memory_key_value_store("store")
    spec = Stores.key_value_store_builder(supplier, Serdes.string(), "long")
    assert_type(spec.name, str)
    assert_type(MockProcessorContext().committed, bool)
    assert_type(in_processing_order([]), list[Event])
