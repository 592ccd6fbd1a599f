"""Rows that expire, in an application that restarts."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication


def seen(record: ps.Record[str, str], context: Any) -> ps.Record[str, str]:
    store = context.get_state_store("seen")
    before = store.get(record.key)
    store.put(record.key, record.value)
    return record.with_value(str(before))


@pytest.mark.parametrize("lose_state", [True, False])
@pytest.mark.parametrize("persistent", [True, False])
def test_rows_keep_their_age_over_a_restart(persistent: bool, lose_state: bool) -> None:
    """A restart neither brings an expired row back nor gives a row a longer life."""
    supplier = (
        ps.Stores.persistent_key_value_store("seen")
        if persistent
        else ps.Stores.in_memory_key_value_store("seen")
    )
    builder = ps.StreamsBuilder()
    builder.add_state_store(ps.Stores.key_value_store_builder(supplier).with_ttl("10s"))
    builder.stream("in").process(seen, "seen").to("out")
    kafka = MemoryKafka()
    for topic in ("in", "out"):
        kafka.create(topic)
    application = StagedApplication(builder.build().graph, {"application.id": "app"}, kafka)
    try:
        for key, value, time in ((b"a", b"1", 0), (b"b", b"2", 5_000), (b"c", b"3", 9_999)):
            kafka.append("in", key, value, time)
        application.run_batch(0)
        application.restart(lose_state=lose_state)
        for key, time in ((b"b", 10_000), (b"a", 10_001), (b"c", 19_998), (b"b", 30_000)):
            kafka.append("in", key, b"new", time)
        application.run_batch(1)
    finally:
        application.close()
    values = [record.value for record in kafka.committed if record.topic == "out"]
    assert values == [b"None", b"None", b"None", b"2", b"None", b"3", b"None"]
    last = {r.key: r.value for r in kafka.logs["app-seen-changelog"][0] if r is not None}
    assert last == {b"a": None, b"b": b"new", b"c": None}
