"""The parts that local applications share: engines, internal topics, and one error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import penstock as ps
from penstock.config import StreamsConfig
from penstock.runtime.local.construction import (
    changelog_of,
    engine_in,
    global_task,
    global_topics,
    is_internal_topic,
    unknown_topic,
)
from penstock.runtime.local.outbox import Outbox
from penstock.runtime.settings import task_settings
from penstock.state.engine.memory import MemoryStore
from penstock.topology.graph import Graph

SETTINGS = task_settings(StreamsConfig({"application.id": "app"}), emit_interval_ms=0)


def graph() -> Graph:
    builder = ps.StreamsBuilder()
    builder.global_table("world", materialized="rows", key="string", value="string")
    stream = builder.stream("in", key="string", value="string")
    stream.group_by(lambda key, value: value).count("counts")
    return builder.build().graph


def test_stores_are_in_memory_without_a_directory(tmp_path: Path) -> None:
    assert isinstance(engine_in(None, "0_0", SETTINGS)("rows"), MemoryStore)
    store = engine_in(tmp_path, "0_0", SETTINGS)("rows")
    assert not isinstance(store, MemoryStore)
    assert (tmp_path / "0_0" / "rows").is_dir()
    store.close()


def test_topics_of_the_application_are_internal() -> None:
    found = graph()
    (repartition,) = found.internal_topics
    assert is_internal_topic(found, SETTINGS, f"app-{repartition}")
    assert is_internal_topic(found, SETTINGS, "app-counts-changelog")
    for other in ("in", repartition, "app-counts", "app-other-changelog", "ap-counts-changelog"):
        assert not is_internal_topic(found, SETTINGS, other)


def test_global_stores_have_a_task_of_their_own() -> None:
    found = graph()
    assert global_topics(found) == {"world"}
    task = global_task(found, SETTINGS, Outbox(), engine_in(None, "", SETTINGS), lambda: 0)
    assert task is not None
    assert list(task.stores.own) == ["rows"]
    task.close()
    empty = ps.StreamsBuilder()
    empty.stream("in").to("out")
    no_stores = empty.build().graph
    engine = engine_in(None, "", SETTINGS)
    assert global_task(no_stores, SETTINGS, Outbox(), engine, lambda: 0) is None


def test_changelog_records_go_to_the_partition_of_the_task() -> None:
    outbox = Outbox()
    changelog = changelog_of(graph(), SETTINGS, outbox, "counts", 3)
    assert changelog is not None
    changelog.append(b"k", b"v", 5, ())
    (record,) = outbox.take()
    assert (record.topic, record.partition) == ("app-counts-changelog", 3)


def test_source_topic_that_is_a_changelog_needs_no_other() -> None:
    of_source = replace(graph(), source_changelogs={"counts": "in"})
    assert changelog_of(of_source, SETTINGS, Outbox(), "counts", 0) is None


def test_unknown_topic_names_what_is_known() -> None:
    error = unknown_topic("orderz", ["orders", "users", "orders"])
    assert "orders" in str(error)
    assert "pipe into one of: orders, users" in str(error)
