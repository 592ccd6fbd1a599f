"""Stores with headers in an application: logged, lost, restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication

FIRST, SECOND = (("n", b"1"),), (("n", b"2"), ("none", None))


def key_value(record: ps.Record[str, str], context: Any) -> ps.Record[str, str]:
    """Returns the headers of the last record of the key, then keeps those of this one."""
    store = context.get_state_store("last")
    before = store.get(record.key)
    row = ps.ValueTimestampHeaders(record.value, record.timestamp, record.headers)
    store.put(record.key, row)
    return record.with_value("none" if before is None else f"{before.value} {before.headers}")


def session(record: ps.Record[str, str], context: Any) -> ps.Record[str, str]:
    store = context.get_state_store("last")
    before = [value for _, value in store.fetch(record.key)]
    at = ps.Windowed(record.key, ps.Window(0, record.timestamp))
    store.put(at, ps.AggregationWithHeaders(record.value, record.headers))
    return record.with_value("none" if not before else f"{before[-1][0]} {before[-1][1]}")


STORES: dict[str, tuple[Callable[..., Any], ps.StoreBuilder]] = {
    "key-value": (
        key_value,
        ps.Stores.timestamped_key_value_store_with_headers_builder(
            ps.Stores.persistent_timestamped_key_value_store_with_headers("last")
        ),
    ),
    "key-value in memory": (
        key_value,
        ps.Stores.timestamped_key_value_store_with_headers_builder(
            ps.Stores.in_memory_key_value_store("last")
        ),
    ),
    "session": (
        session,
        ps.Stores.session_store_with_headers_builder(
            ps.Stores.persistent_session_store_with_headers("last", "1h")
        ),
    ),
}


def values(kafka: MemoryKafka) -> list[bytes | None]:
    return [record.value for record in kafka.committed if record.topic == "out"]


@pytest.mark.parametrize("lose_state", [True, False])
@pytest.mark.parametrize("kind", STORES)
def test_headers_survive_a_restart(kind: str, lose_state: bool) -> None:
    """Put with headers, restart, get gives them: from the changelog, or from the folder."""
    process, store = STORES[kind]
    builder = ps.StreamsBuilder()
    builder.add_state_store(store)
    builder.stream("in").process(process, "last").to("out")
    kafka = MemoryKafka()
    for topic in ("in", "out"):
        kafka.create(topic)
    application = StagedApplication(builder.build().graph, {"application.id": "app"}, kafka)
    try:
        kafka.append("in", b"k", b"a", 1, FIRST)
        kafka.append("in", b"k", b"b", 2, SECOND)
        kafka.append("in", b"other", b"x", 2)
        application.run_batch(0)
        application.restart(lose_state=lose_state)
        kafka.append("in", b"k", b"c", 3)
        kafka.append("in", b"other", b"y", 3)
        application.run_batch(1)
    finally:
        application.close()
    shown = [f"a {FIRST}", f"b {SECOND}", "x ()"]
    assert values(kafka) == [b"none", *(text.encode() for text in (shown[0], "none", *shown[1:]))]


def test_changelog_of_a_store_without_headers_is_taken_over() -> None:
    """A program that begins to keep headers restores its rows, which have none yet."""
    builder = ps.StreamsBuilder()
    counts = builder.stream("in", key="string", value="string").group_by_key().count("counts")
    counts.to_stream().to("out", key="string", value="long")
    kafka = MemoryKafka()
    for topic in ("in", "out"):
        kafka.create(topic)
    graph = builder.build({"dsl.store.format": "HEADERS"}).graph
    application = StagedApplication(graph, {"application.id": "app"}, kafka)
    try:
        kafka.append("app-counts-changelog", b"k", (2).to_bytes(8, "big"), 1)
        kafka.append("in", b"k", b"a", 5, FIRST)
        application.run_batch(0)
    finally:
        application.close()
    assert values(kafka) == [(3).to_bytes(8, "big")]
    log = [record for record in kafka.logs["app-counts-changelog"][0] if record is not None]
    assert [record.headers for record in log] == [(), FIRST]
