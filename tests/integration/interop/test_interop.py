"""Real Java reads what Penstock writes, and each continues the other's application."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import penstock as ps
from penstock.model.partitioning import partition_for
from tests.integration.interop.java_side import JavaSide

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

WINDOW_MS, GAP_MS = 10_000, 5_000
#: Windowed changelogs are deleted by the time of their records: an hour ago is young enough.
BASE_MS = time.time_ns() // 1_000_000 // 60_000 * 60_000 - 3_600_000
#: Key and time of each record; zoë goes the way of all text.
INPUT = [
    (key, BASE_MS + after_ms)
    for key, after_ms in (
        ("ann", 1_000), ("bob", 2_000), ("ann", 3_000), ("zoë", 4_000), ("ann", 12_000),
        ("bob", 12_500), ("ann", 14_000), ("zoë", 21_000), ("bob", 22_000),
    )
]  # fmt: skip
PARTITIONS = 3


class Written(NamedTuple):
    """The topics of an application that has run and ended."""

    application: str
    counts: str
    windows: str
    sessions: str

    def changelog(self, store: str) -> str:
        return f"{self.application}-{store}-changelog"


@pytest.fixture
def written(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    application_id: str,
) -> Written:
    """An application that counts per key, per window and per session, on Spark."""
    source = new_topic("interop-source", partitions=PARTITIONS)
    sinks = [new_topic(f"interop-{name}", partitions=PARTITIONS) for name in ("c", "w", "s")]
    produce(source, *[(key, "x", at) for key, at in INPUT])
    builder = ps.StreamsBuilder()
    grouped = builder.stream(source).group_by_key()
    grouped.count("counts").to_stream().to(sinks[0])
    windows = ps.TimeWindows.of_size_with_no_grace(WINDOW_MS)
    grouped.windowed_by(windows).count("windows").to_stream().to(sinks[1])
    sessions = ps.SessionWindows.of_inactivity_gap_with_no_grace(GAP_MS)
    grouped.windowed_by(sessions).count("sessions").to_stream().to(sinks[2])
    with streams_of(builder.build(), num_stream_threads=2) as streams:
        assert streams.run_until_idle("300s")
    return Written(application_id, *sinks)


def last_per_key(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], Any]:
    """The last value of each key, without those that were deleted."""
    found = {(row["key"], row.get("start"), row.get("end")): row["value"] for row in rows}
    return {key: value for key, value in found.items() if value is not None}


def counted() -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for key, _ in INPUT:
        found[key, None, None] = found.get((key, None, None), 0) + 1
    return found


def windowed() -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for key, at in INPUT:
        start = at // WINDOW_MS * WINDOW_MS
        window = (key, start, start + WINDOW_MS)
        found[window] = found.get(window, 0) + 1
    return found


def sessions() -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for key, at in INPUT:
        for (other, start, end), count in list(found.items()):
            if other == key and end + GAP_MS >= at:
                del found[other, start, end]
                found[key, start, at] = count + 1
                break
        else:
            found[key, at, at] = 1
    return found


def test_java_reads_output_and_changelog_topics(written: Written, java_side: JavaSide) -> None:
    """Long values, windowed keys of both kinds, and stores as Kafka Streams restores them."""
    times = {key: max(at for other, at in INPUT if other == key) for key, _ in INPUT}

    rows = java_side.ask("read", topic=written.counts, key="string", value="long")
    assert last_per_key(rows) == counted()
    assert {row["key"]: row["timestamp"] for row in rows} == times

    windows = {"key": "time-windowed", "value": "long", "window_ms": WINDOW_MS}
    rows = java_side.ask("read", topic=written.windows, **windows)
    assert last_per_key(rows) == windowed()
    by_inner_key = {row["key"]: row["partition"] for row in rows}
    assert by_inner_key == {key: partition_for(key.encode(), PARTITIONS) for key in times}

    rows = java_side.ask("read", topic=written.sessions, key="session-windowed", value="long")
    assert last_per_key(rows) == sessions()

    topic = written.changelog("counts")
    rows = java_side.ask("read", topic=topic, key="string", value="long-and-timestamp")
    assert last_per_key(rows) == counted()
    assert {row["key"]: row["stored_at"] for row in rows} == times

    topic = written.changelog("windows")
    windows |= {"key": "time-windowed-changelog", "value": "long-and-timestamp"}
    rows = java_side.ask("read", topic=topic, **windows)
    assert last_per_key(rows) == windowed()

    topic = written.changelog("sessions")
    rows = java_side.ask("read", topic=topic, key="session-windowed", value="long")
    assert last_per_key(rows) == sessions()


def test_java_places_keys_where_we_do(new_topic: Callable[..., str], java_side: JavaSide) -> None:
    """Java's default partitioner and ours agree, on any number of partitions."""
    keys = ["a", "ab", "abc", "abcd", "zoë", "日本", "🙂", " ", *(f"user-{n}" for n in range(200))]
    for partitions in (1, 3, 7):
        topic = new_topic("interop-places", partitions=partitions)
        placed = java_side.ask("place", topic=topic, keys=keys)
        assert placed == {key: partition_for(key.encode(), partitions) for key in keys}


def test_each_continues_the_others_counts(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    java_side: JavaSide,
    application_id: str,
    tmp_path: Path,
) -> None:
    """Ours counts to 3, Java's Kafka Streams goes on to 5, and ours on to 6."""
    source = new_topic("interop-words", partitions=2)
    sink = new_topic("interop-totals", partitions=2)

    def ours(expected: dict[str, int]) -> None:
        builder = ps.StreamsBuilder()
        builder.stream(source).group_by_key().count("counts").to_stream().to(sink)
        with streams_of(builder.build()) as streams:
            assert streams.run_until_idle("300s")
            assert dict(streams.store("counts").all()) == expected

    produce(source, *[("ann", "x")] * 3, *[("bob", "x")] * 2)
    ours({"ann": 3, "bob": 2})
    produce(source, *[("ann", "x")] * 2, ("cid", "x"))
    expected = {"ann": 5, "bob": 2, "cid": 1}
    answer = java_side.ask(
        "count",
        application=application_id,
        source=source,
        sink=sink,
        store="counts",
        state_dir=str(tmp_path / "java-state"),
        until=expected,
    )
    assert answer == {"counts": expected, "clean": True}
    produce(source, ("ann", "x"), ("bob", "x"))
    ours({"ann": 6, "bob": 3, "cid": 1})
    rows = java_side.ask("read", topic=sink, key="string", value="long")
    assert last_per_key(rows) == {(k, None, None): n for k, n in expected.items()} | {
        ("ann", None, None): 6,
        ("bob", None, None): 3,
    }


def test_each_closes_the_windows_that_the_other_holds_back(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    java_side: JavaSide,
    application_id: str,
    tmp_path: Path,
) -> None:
    """What ``suppress`` holds back is in its changelog, in bytes that both of them read."""
    source = new_topic("interop-clicks", partitions=1)
    sink = new_topic("interop-closed", partitions=1)
    windows = ps.TimeWindows.of_size_with_no_grace(WINDOW_MS)
    held = ps.Suppressed.until_window_closes(ps.BufferConfig.unbounded()).with_name("held")

    def ours() -> None:
        builder = ps.StreamsBuilder()
        counted = builder.stream(source).group_by_key().windowed_by(windows).count("windows")
        closed = counted.suppress(held).to_stream(lambda key, _: f"{key.key}@{key.window.start}")
        closed.to(sink)
        with streams_of(builder.build()) as streams:
            assert streams.run_until_idle("300s")

    def at(window: int) -> int:
        return BASE_MS + window * WINDOW_MS

    def total() -> dict[str, int]:
        rows = java_side.ask("read", topic=sink, key="string", value="long")
        return {row["key"]: row["value"] for row in rows}

    produce(source, ("ann", "x", at(0)), ("bob", "x", at(0) + 1), ("ann", "x", at(0) + 2))
    ours()
    assert total() == {}
    produce(source, ("zoë", "x", at(1)), ("zoë", "x", at(1) + 1))
    answer = java_side.ask(
        "close-windows",
        application=application_id,
        source=source,
        sink=sink,
        window_ms=WINDOW_MS,
        state_dir=str(tmp_path / "java-state"),
        until=2,
    )
    first = {f"ann@{at(0)}": 2, f"bob@{at(0)}": 1}
    assert answer == {"counts": first, "clean": True}
    produce(source, ("ann", "x", at(2)))
    ours()
    assert total() == {**first, f"zoë@{at(1)}": 2}
