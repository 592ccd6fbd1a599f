"""Whole applications on real Spark and real Kafka.

Exercises ``driver.session`` and ``worker.clients``.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.kafka.admin import Admin
from tests.integration.spark.instances import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def counts(source: str, sink: str) -> ps.Topology:
    builder = ps.StreamsBuilder()
    (
        builder.stream(source)
        .flat_map_values(lambda line: line.split())
        .group_by(lambda _, word: word)
        .count("counts")
        .to_stream()
        .to(sink)
    )
    return builder.build()


def totals(records: list[tuple[bytes, bytes]]) -> dict[str, int]:
    """The last count of each word."""
    return {key.decode(): int.from_bytes(value, "big") for key, value in records}


def test_counts_survive_a_restart_and_the_loss_of_local_state(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, tmp_path: Path
) -> None:
    """Each life continues where the last one committed; the changelog replaces lost state."""
    source, sink = new_topic("lines", partitions=3), new_topic("counts", partitions=2)
    expected: dict[str, int] = {}
    for life in range(3):
        produce(source, *[(f"k{n}", f"hello w{n % 5}") for n in range(50)])
        for n in range(50):
            for word in ("hello", f"w{n % 5}"):
                expected[word] = expected.get(word, 0) + 1
        streams = streams_of(counts(source, sink), num_stream_threads=2)
        streams.start()
        assert streams.run_until_idle("300s")
        assert dict(streams.store("counts").all()) == expected
        restored = streams.metrics().restored_records
        assert streams.close("180s")
        assert totals(committed(sink)) == expected
        if life == 1:
            # Its state was closed cleanly: only what came after the checkpoint is read again.
            assert restored == 0
            shutil.rmtree(tmp_path / "state")
        if life == 2:
            assert restored >= len(expected)


def test_group_offsets_are_visible_to_kafkas_tools(
    streams_of: Make, new_topic: Any, produce: Write, kafka_admin: Admin, application_id: str
) -> None:
    """The consumer group ``application.id`` has a member and the offsets that were processed."""
    source, sink = new_topic("lines"), new_topic("counts")
    produce(source, *[(None, "a b")] * 7)
    with streams_of(counts(source, sink)) as streams:
        assert streams.run_until_idle("300s")
        (member,) = kafka_admin.group(application_id).members
        assert member.startswith(f"{application_id}-")
    assert kafka_admin.group_offsets(application_id)[source, 0] == 7


def test_sparks_pages_show_one_job_that_runs_as_long_as_the_application(
    spark: Any, streams_of: Make, new_topic: Any, produce: Write, application_id: str
) -> None:
    """It is named after the application, its tasks are the stream threads, and it succeeds."""
    source, sink = new_topic("lines"), new_topic("counts")
    produce(source, (None, "a b"))

    def mine() -> list[tuple[str, int, int]]:
        # Spark's own pages ask here; there is no public way.
        found = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
        jobs = [found.apply(number) for number in range(found.size())]
        return [
            (str(each.status()), each.numActiveTasks(), each.numCompletedTasks())
            for each in jobs
            if each.name() == application_id
        ]

    with streams_of(counts(source, sink), num_stream_threads=2) as streams:
        assert streams.run_until_idle("300s")
        wait_for(lambda: mine() == [("RUNNING", 2, 0)], 30)
    wait_for(lambda: mine() == [("SUCCEEDED", 0, 2)], 30)


def test_states_are_reported_in_order(streams_of: Make, new_topic: Any) -> None:
    """CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, NOT_RUNNING."""
    streams = streams_of(counts(new_topic("lines"), new_topic("counts")))
    seen: list[str] = [streams.state.value]
    streams.set_state_listener(lambda new, old: seen.append(new.value))
    streams.start()
    assert streams.close("180s")
    assert seen == ["CREATED", "REBALANCING", "RUNNING", "PENDING_SHUTDOWN", "NOT_RUNNING"]


def test_threads_come_and_go_while_it_runs(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """A slot more or less takes effect at the next batch, and moves its tasks' state."""
    source, sink = new_topic("lines", partitions=4), new_topic("counts")
    with streams_of(counts(source, sink)) as streams:
        for change in (None, streams.add_stream_thread, streams.remove_stream_thread):
            if change is not None:
                change()
            produce(source, *[(f"k{n}", "x y") for n in range(20)])
            assert streams.run_until_idle("300s")
        assert len(streams.metadata_for_local_threads()) == 1
        assert streams.store("counts")["x"] == 60
    assert totals(committed(sink)) == {"x": 60, "y": 60}


def test_a_paused_application_processes_nothing(
    streams_of: Make, new_topic: Any, produce: Write
) -> None:
    """Pause keeps it RUNNING but plans no batch; resume goes on."""
    source, sink = new_topic("lines"), new_topic("counts")
    with streams_of(counts(source, sink)) as streams:
        streams.pause()
        time.sleep(0.5)
        produce(source, (None, "a"))
        time.sleep(1.5)
        assert sum(streams.lag().values()) == 1
        assert streams.state is ps.State.RUNNING
        streams.resume()
        assert streams.run_until_idle("300s")


def test_global_tables_are_complete_before_the_first_record_is_joined(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """A record never misses a row that was there before it."""
    orders, products, sink = (
        new_topic("orders", partitions=2),
        new_topic("products"),
        new_topic("o"),
    )
    produce(products, *[(f"p{n}", f"name{n}") for n in range(100)])
    produce(orders, *[(f"o{n}", f"p{n}") for n in range(100)])
    builder = ps.StreamsBuilder()
    table = builder.global_table(products)
    builder.stream(orders).join(
        table, lambda order, product: f"{order}={product}", key=lambda _, order: order
    ).to(sink)
    with streams_of(builder.build(), num_stream_threads=2) as streams:
        assert streams.run_until_idle("300s")
    assert sorted(value for _, value in committed(sink)) == sorted(
        f"p{n}=name{n}".encode() for n in range(100)
    )


class Ticker(ps.Processor[str, str, str, str]):
    """Forwards a tick on the wall clock, with no input at all."""

    def init(self, context: Any) -> None:
        context.schedule("200ms", ps.PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record: Any) -> None:
        return None

    def tick(self, now: int) -> None:
        self.context.forward(ps.Record("tick", str(now), now))


def test_wall_clock_punctuation_fires_without_input(
    streams_of: Make, new_topic: Any, committed: Records
) -> None:
    """Time passes in batches without records too."""
    source, sink = new_topic("in"), new_topic("out")
    builder = ps.StreamsBuilder()
    builder.stream(source).process(Ticker).to(sink)
    with streams_of(builder.build()):
        deadline = time.monotonic() + 60
        while not committed(sink) and time.monotonic() < deadline:
            time.sleep(0.5)
    assert committed(sink)
