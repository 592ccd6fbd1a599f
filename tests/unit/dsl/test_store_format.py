"""dsl.store.format: stores of the DSL that keep headers."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Materialized, Stores, StreamsBuilder, TimeWindows, java
from penstock.errors import ConfigError, InvalidArgumentError
from penstock.state.spec import StoreHeaders
from penstock.testing import TestRecord, TopologyTestDriver

HEADERS = {"dsl.store.format": "HEADERS"}
TRACE = (("trace", b"7"),)


def piped(topology: Any) -> TopologyTestDriver:
    driver = TopologyTestDriver(topology)
    driver.pipe("in", TestRecord("k", "a", 5, (("trace", b"1"),)))
    driver.pipe("in", TestRecord("k", "b", 6, TRACE))
    return driver


def test_rows_of_a_table_have_the_headers_of_their_records() -> None:
    """They are in the changelog too, and other views of the store stay as they were."""
    builder = StreamsBuilder()
    builder.stream("in").to_table("rows").map_values(str.upper).to_stream().to("out")
    with piped(builder.build(HEADERS)) as driver:
        rows = driver.get_timestamped_key_value_store_with_headers("rows")
        assert rows.get("k") == ("b", 6, TRACE)
        assert driver.get_timestamped_key_value_store("rows").get("k") == ("b", 6)
        assert driver.get_key_value_store("rows")["k"] == "b"
        assert driver.read_values("out") == ["A", "B"]
        changes = list(driver.take_all("topology-test-driver-rows-changelog"))
        assert [(each.value, each.headers) for each in changes][-1] == (b"b", TRACE)


def test_aggregates_are_the_same_with_headers() -> None:
    """Only the form of the rows changes: key-value, window and session stores."""
    results = []
    for config in ({}, HEADERS):
        builder = StreamsBuilder()
        grouped = builder.stream("in").group_by_key()
        grouped.count("n").to_stream().to("n", value="long")
        windowed = grouped.windowed_by(TimeWindows.of_size("10s")).count("w")
        windowed.to_stream(lambda window, _: window.key).to("w", value="long")
        sessions = grouped.windowed_by(java.SessionWindows.with_("1s")).count("s")
        sessions.to_stream(lambda window, _: window.key).to("s", value="long")
        with piped(builder.build(config)) as driver:
            results.append([driver.read_records(topic) for topic in "nws"])
            if config:
                window = driver.get_timestamped_window_store_with_headers("w").fetch("k", 0)
                assert window == (2, 6, TRACE)
                ((_, session),) = driver.get_session_store_with_headers("s").fetch("k")
                assert session == (2, TRACE)
                assert dict(driver.get_session_store("s").fetch("k")).popitem()[1] == 2
    assert results[0] == results[1]


def test_supplier_decides_for_its_own_operator() -> None:
    """With or without the setting."""
    builder = StreamsBuilder()
    supplier = Stores.persistent_timestamped_key_value_store_with_headers("kept")
    grouped = builder.stream("in").group_by_key()
    grouped.count(Materialized.as_(supplier))
    plain = Stores.persistent_key_value_store("plain")
    grouped.count(Materialized.as_(plain))
    with piped(builder.build(HEADERS)) as driver:
        assert driver.get_timestamped_key_value_store_with_headers("kept")["k"] == (2, 6, TRACE)
        with pytest.raises(InvalidArgumentError, match="does not keep headers"):
            driver.get_timestamped_key_value_store_with_headers("plain")


def test_join_and_buffer_stores_keep_their_format() -> None:
    """They are not among the stores that the setting is about."""
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count("n")
    counts.join(builder.table("other", materialized="o"), lambda one, two: two).to_stream().to("x")
    graph = builder.build(HEADERS).graph
    assert {name: spec.headers for name, spec in graph.stores.items()} == {
        "n": StoreHeaders.KEPT, "o": StoreHeaders.KEPT,
    }  # fmt: skip


def test_unknown_format_is_refused() -> None:
    """Java knows these two."""
    with pytest.raises(ConfigError, match=r"dsl\.store\.format"):
        StreamsBuilder().build({"dsl.store.format": "headers!"})
