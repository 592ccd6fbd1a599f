"""What goes wrong with one partition does not hold up the others.

A broken partition is seen to stay broken while records of the others go through, one after the
other. So these tests measure no time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest

import penstock as ps
from penstock.model.partitioning import partition_for
from tests.integration.spark.instances import thread_process, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]

#: Keys that Kafka's murmur2 places in partition 0 and 1 of two.
KEYS = {partition_for(name.encode(), 2): name for name in ("a", "b", "c", "d", "e", "f")}
ZERO, ONE = KEYS[0], KEYS[1]
TRIPS = 12


class Trips:
    """Sends records of the healthy partition through the application, one after the other."""

    def __init__(self, source: str, sink: str, produce: Write, committed: Records) -> None:
        self._source, self._sink = source, sink
        self._produce, self._committed = produce, committed
        self.key = ZERO

    def make(self, count: int = TRIPS) -> None:
        for number in range(count):
            value = f"trip-{time.monotonic_ns()}-{number}"
            self._produce(self._source, (self.key, value))
            wait_for(lambda value=value: value in self.values(), 30)  # type: ignore[misc]

    def values(self) -> list[str]:
        return [value.decode() for _, value in self._committed(self._sink)]


@pytest.fixture
def trips(new_topic: Any, produce: Write, committed: Records) -> Trips:
    source, sink = new_topic("in", partitions=2), new_topic("out", partitions=2)
    return Trips(source, sink, produce, committed)


def started(
    streams_of: Make, trips: Trips, function: Callable[[str], str], threads: int = 2
) -> ps.KafkaStreams:
    builder = ps.StreamsBuilder()
    builder.stream(trips._source).map_values(function).to(trips._sink)
    streams = streams_of(builder.build(), num_stream_threads=threads)
    streams.set_uncaught_exception_handler(lambda error: ps.ExceptionResponse.REPLACE_THREAD)
    streams.start()
    return streams


def test_a_function_that_does_not_return_holds_up_its_own_partition(
    streams_of: Make, trips: Trips, produce: Write, tmp_path: Path
) -> None:
    """Its record comes out when it returns."""
    end = tmp_path / "end"

    def slow(value: str) -> str:
        while value == "slow" and not end.exists():
            time.sleep(0.02)
        return value

    started(streams_of, trips, slow)
    trips.make(1)
    produce(trips._source, (ONE, "slow"))
    trips.make()
    assert "slow" not in trips.values()
    end.touch()
    wait_for(lambda: "slow" in trips.values(), 60)


def test_a_paused_thread_holds_up_its_own_partitions(
    streams_of: Make, trips: Trips, produce: Write
) -> None:
    """The other thread goes on before anybody has noticed."""
    streams = started(streams_of, trips, str)
    trips.make(1)
    paused = thread_process(streams, 1)
    os.kill(paused, SIGSTOP)
    try:
        produce(trips._source, (ONE, "late"))
        trips.make()
        assert "late" not in trips.values()
    finally:
        os.kill(paused, SIGCONT)
    wait_for(lambda: "late" in trips.values(), 60)


@pytest.mark.parametrize(
    ("threads", "bad", "good"), [(2, ONE, ZERO), (1, ONE, ZERO), (1, ZERO, ONE)]
)
def test_a_record_that_fails_holds_up_its_own_partition(
    streams_of: Make,
    trips: Trips,
    produce: Write,
    tmp_path: Path,
    threads: int,
    bad: str,
    good: str,
) -> None:
    """Also if its thread has other partitions; it is tried again until it works."""
    works = tmp_path / "works"

    def poisoned(value: str) -> str:
        if value == "poison" and not works.exists():
            raise ValueError("no")
        return value

    streams = started(streams_of, trips, poisoned, threads)
    trips.key = good
    trips.make(1)
    produce(trips._source, (bad, "poison"), (bad, "after"))
    trips.make()
    assert not {"poison", "after"} & set(trips.values())
    assert "no" in (streams.waiting_for or "")
    works.touch()
    wait_for(lambda: {"poison", "after"} <= set(trips.values()), 60)
    wait_for(lambda: streams.waiting_for is None, 30)


def test_schedules_are_on_time_in_a_backlog(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """A schedule of 200 ms fires many times while one batch of records would still run."""
    source, sink = new_topic("in"), new_topic("out")

    class Slow(ps.Processor[str, str, str, str]):
        def init(self, context: Any) -> None:
            self.context = context
            context.schedule("200ms", ps.PunctuationType.WALL_CLOCK_TIME, self.tick)

        def tick(self, now_ms: int) -> None:
            self.context.forward(ps.Record("tick", "tick", now_ms))

        def process(self, record: ps.Record[str, str]) -> None:
            time.sleep(0.002)

    builder = ps.StreamsBuilder()
    builder.stream(source).process(Slow).to(sink)
    produce(source, *(("k", str(number)) for number in range(4_000)))
    with streams_of(builder.build()) as streams:
        wait_for(lambda: len(committed(sink)) >= 5, 60)
        assert sum(streams.lag().values()) > 0
