"""Applications of one process that share stream threads.

Exercises ``shared_threads`` and ``shared_offsets`` on real Spark and Kafka.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import penstock as ps
from penstock.runtime.spark.driver.threads import shared_threads as pools
from penstock.runtime.spark.driver.threads.shared_threads import SharedThreads
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.questions import Ping
from penstock.runtime.states import State
from tests.integration.spark.instances import exact, process_of, thread_process, wait_for, words
from tests.waiting import happens

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

PATIENCE_S = 300.0
#: What ``words`` makes records of.
WORDS = [f"w{number}" for number in range(10)]
Committed = Callable[[str], list[tuple[Any, Any]]]


class Applications:
    """Applications in a pool of their own, over topics of one test."""

    def __init__(self, servers: str, folder: Path) -> None:
        self.pool = f"pool-{uuid4().hex[:8]}"
        self.folder = folder / "state"
        self._servers = servers
        self.started: list[ps.KafkaStreams] = []

    def start(self, topology: ps.Topology, name: str = "", **config: Any) -> ps.KafkaStreams:
        settings = {
            "application.id": name or f"app-{uuid4().hex[:8]}",
            "bootstrap.servers": self._servers,
            "state.dir": str(self.folder),
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 20,
            "statestore.cache.max.bytes": 0,
            "penstock.slot.pool": self.pool,
        }
        settings |= {name.replace("_", "."): value for name, value in config.items()}
        streams = ps.KafkaStreams(topology, settings)
        self.started.append(streams)
        streams.start()
        return streams

    @property
    def threads(self) -> SharedThreads:
        return pools._POOLS[self.pool]

    def processes(self) -> set[int]:
        """The processes of the pool's stream threads that are alive."""
        return {process_of(each.endpoint) for each in list(self.threads._living.values())}


@pytest.fixture
def applications(spark: Any, kafka_broker: str, tmp_path: Path) -> Iterator[Applications]:
    made = Applications(kafka_broker, tmp_path)
    yield made
    for streams in made.started:
        streams.close("180s")


def counting(source: str, sink: str) -> ps.Topology:
    """Count values behind a repartition: two stages, and each output of a key is 1, 2, 3 ..."""
    builder = ps.StreamsBuilder()
    builder.stream(source).group_by(lambda _, value: value).count("counts").to_stream().to(sink)
    return builder.build()


def mapped(source: str, sink: str, function: Callable[[str], str]) -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream(source).map_values(function).to(sink)
    return builder.build()


def until(claim: Callable[[], bool]) -> None:
    wait_for(claim, PATIENCE_S)


def is_stream_thread(pid: int) -> bool:
    """Tell whether a process works as a stream thread; Spark keeps the process for other tasks."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("stream-thread-")
    except OSError:
        return False


def batches(streams: ps.KafkaStreams) -> int:
    runner = streams._runner()
    return 0 if runner is None else runner.progress.batches


def more_batches(streams: list[ps.KafkaStreams]) -> None:
    """Wait until every application has completed a few more batches."""
    wanted = {each: batches(each) + 4 for each in streams}
    until(lambda: all(batches(each) >= least for each, least in wanted.items()))


def test_applications_in_a_pool_give_what_each_gives_alone(
    applications: Applications,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    committed: Committed,
) -> None:
    """They share processes, never records or state."""
    source = new_topic("words", partitions=4)
    produce(source, *words(400))
    sinks = [new_topic("counts", partitions=2) for _ in range(4)]
    alone = applications.start(counting(source, sinks[0]), **{"penstock.slot.pool": ""})
    pooled = [
        applications.start(counting(source, sink), num_stream_threads=threads)
        for sink, threads in zip(sinks[1:], (1, 1, 2), strict=True)
    ]
    for streams in (alone, *pooled):
        assert streams.run_until_idle("300s")
    produce(source, *words(200))
    for sink in sinks:
        until(lambda sink=sink: exact(committed(sink)) == dict.fromkeys(WORDS, 60))  # type: ignore[misc]
    assert len(applications.processes()) <= applications.threads.most_threads


def test_an_application_that_fails_leaves_the_others_committing(
    applications: Applications,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    committed: Committed,
) -> None:
    """Its error is its own, also where it meets the others in one process."""
    source, good, bad = (new_topic(name) for name in ("in", "good", "bad"))

    def raising(value: str) -> str:
        if value == "poison":
            raise ValueError("no")
        return value

    other = applications.start(counting(source, good))
    failing = applications.start(mapped(source, bad, raising))
    produce(source, ("k", "w1"))
    until(lambda: len(committed(good)) == 1 and len(committed(bad)) == 1)
    produce(source, ("k", "poison"), ("k", "w1"))
    until(lambda: failing.state is State.ERROR)
    produce(source, ("k", "w1"))
    assert other.run_until_idle("300s")
    assert exact(committed(good)) == {"w1": 3, "poison": 1}
    assert other.state is State.RUNNING
    runner = other._runner()
    assert runner is not None
    assert runner.progress.reruns == 0


def test_an_application_that_hangs_does_not_hold_up_the_others(
    applications: Applications,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    committed: Committed,
    tmp_path: Path,
) -> None:
    """Its own application waits for its function, and nobody else does."""
    source, quick, slow = (new_topic(name) for name in ("in", "quick", "slow"))
    gate = tmp_path / "gate"

    def held(value: str) -> str:
        while value == "held" and not gate.exists():
            time.sleep(0.05)
        return value

    hanging = applications.start(mapped(source, slow, held))
    going = applications.start(counting(source, quick))
    produce(source, ("k", "held"))
    until(lambda: len(committed(quick)) == 1)
    for number in range(2, 6):
        produce(source, ("k", "held"))
        until(lambda number=number: len(committed(quick)) == number)  # type: ignore[misc]
    assert committed(slow) == []
    gate.touch()
    assert hanging.run_until_idle("300s")
    assert going.run_until_idle("300s")
    assert len(committed(slow)) == 5
    assert exact(committed(quick)) == {"held": 5}


@pytest.mark.parametrize(("count", "kills"), [(3, 1), pytest.param(5, 3, marks=pytest.mark.slow)])
def test_a_killed_thread_of_a_pool_loses_and_doubles_nothing_of_any_application(
    applications: Applications,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    committed: Committed,
    count: int,
    kills: int,
) -> None:
    """All slots of the process come back, each from what it has committed."""
    source = new_topic("words", partitions=4)
    sinks = [new_topic("counts", partitions=2) for _ in range(count)]
    streams = [applications.start(counting(source, sink)) for sink in sinks]
    closing = threading.Event()
    sent: list[int] = []

    def feed() -> None:
        while not closing.is_set():
            produce(source, *words(20))
            sent.append(20)
            closing.wait(0.05)

    feeding = threading.Thread(target=feed)
    feeding.start()
    try:
        for _ in range(kills):
            more_batches(streams)
            victim = min(applications.processes())
            os.kill(victim, signal.SIGKILL)
            more_batches(streams)
            assert victim not in applications.processes()
    finally:
        closing.set()
        feeding.join()
    for each in streams:
        assert each.run_until_idle("300s")
    for sink in sinks:
        assert sum(exact(committed(sink)).values()) == sum(sent)


def test_closing_one_application_leaves_the_threads_to_the_others_and_the_last_ends_them(
    applications: Applications,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    committed: Committed,
) -> None:
    """Stream threads of a pool end with its last application."""
    source, sinks = new_topic("in"), [new_topic("out") for _ in range(4)]
    streams = [applications.start(counting(source, sink)) for sink in sinks]
    produce(source, ("k", "w"))
    for each in streams:
        assert each.run_until_idle("300s")
    before = applications.processes()
    assert len(before) == applications.threads.most_threads
    for each in streams[2:]:
        assert each.close("180s")
    assert applications.processes() == before
    produce(source, ("k", "w"))
    for each in streams[:2]:
        assert each.run_until_idle("300s")
    assert [exact(committed(sink))["w"] for sink in sinks] == [2, 2, 1, 1]
    for each in streams[:2]:
        assert each.close("180s")
    assert applications.processes() == set()
    assert happens(lambda: not any(map(is_stream_thread, before)), within_s=30.0)


def test_a_function_that_ends_its_process_takes_the_others_along_only_for_a_while(
    applications: Applications,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    committed: Committed,
) -> None:
    """After two losses in a row, slots get processes of their own."""
    source, good, bad = (new_topic(name) for name in ("in", "good", "bad"))

    def deadly(value: str) -> str:
        if value == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    other = applications.start(counting(source, good))
    killer = applications.start(mapped(source, bad, deadly), task_timeout_ms=30_000)
    more = applications.start(mapped(source, new_topic("more"), lambda value: value))
    produce(source, ("k", "die"))
    until(lambda: bool(applications.threads._private))
    produce(source, ("k", "w1"))
    until(lambda: len(committed(good)) == 2)
    assert exact(committed(good)) == {"die": 1, "w1": 1}
    until(lambda: killer.state is State.ERROR)
    assert [other.state, more.state] == [State.RUNNING, State.RUNNING]


def test_the_state_of_a_pooled_application_goes_on_after_a_restart_and_can_be_asked(
    applications: Applications,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    committed: Committed,
) -> None:
    """Also outside of the pool: its slots, topics and folders are those of any application."""
    source, sink, name = new_topic("in"), new_topic("out"), f"app-{uuid4().hex[:8]}"
    for number, pool in enumerate((applications.pool, applications.pool, ""), start=1):
        streams = applications.start(counting(source, sink), name, **{"penstock.slot.pool": pool})
        produce(source, ("k", "w"))
        until(lambda number=number: len(committed(sink)) == number)  # type: ignore[misc]
        assert streams.run_until_idle("300s")
        assert streams.store("counts").get("w") == number
        if pool:
            assert thread_process(streams, 0) in applications.processes()
            endpoint = streams._leading().runner.placement.endpoints[0]  # type: ignore[union-attr]
            assert ask(endpoint, applications.threads.secret, Ping()) == endpoint
        assert streams.close("180s")
    assert exact(committed(sink)) == {"w": 3}
