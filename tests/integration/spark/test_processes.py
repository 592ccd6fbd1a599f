"""The processes of an application: each is killed or paused, and none stays behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIGTERM, Signals
from typing import Any, cast

import pytest

import penstock as ps
from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from tests.integration.spark.application import counts
from tests.integration.spark.instances import Instance, exact, thread_process, wait_for, words

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Start = Callable[..., Instance]
Write = Callable[..., None]

SIGNALS = pytest.mark.parametrize(
    "number",
    [
        pytest.param(SIGTERM, id="SIGTERM"),
        # Both have the same handler, and a start of Spark takes long.
        pytest.param(SIGINT, id="SIGINT", marks=pytest.mark.slow),
    ],
)


# Spark's JVM


@pytest.mark.parametrize(
    "backlog", [pytest.param(0, id="idle", marks=pytest.mark.slow), pytest.param(20_000, id="busy")]
)
def test_killed_jvm_ends_the_program_with_an_error(
    start: Start, topics: Any, produce: Write, backlog: int
) -> None:
    """Nothing can run without Spark: the exit code says so, and no process stays behind."""
    instance = start(pause_s=0.001)
    instance.wait_until_running()
    if backlog:
        produce(topics[0], *words(backlog))
        time.sleep(1)
    instance.send(SIGKILL, instance.jvm)
    assert instance.process.wait(90) > 0
    assert "[spark-lost]" in instance.log
    instance.wait_until_gone(90)


@pytest.mark.slow
def test_paused_jvm_does_not_keep_the_program_from_ending(start: Start) -> None:
    """A JVM that does not answer is killed after a while."""
    instance = start()
    instance.wait_until_running()
    instance.send(SIGSTOP, instance.jvm)
    instance.end(SIGTERM, seconds=35)
    instance.wait_until_gone(90)


# Signals


@SIGNALS
def test_signal_inside_a_batch_ends_the_program_cleanly(
    start: Start, topics: Any, produce: Write, committed: Records, number: Signals
) -> None:
    """The batch that is under way is committed, or leaves no trace."""
    source, sink = topics
    instance = start(pause_s=0.001)
    instance.wait_until_running()
    produce(source, *words(10_000))
    wait_for(lambda: committed(sink), 180)
    assert instance.end(number, seconds=60) == 0
    instance.wait_until_gone(90)
    exact(committed(sink))


@SIGNALS
@pytest.mark.slow
def test_signal_while_state_is_brought_back_ends_the_program(
    start: Start, topics: Any, produce: Write, number: Signals
) -> None:
    """What is only being prepared is not waited for."""
    produce(topics[0], *words(100))
    instance = start(is_slow_to_open=True)
    wait_for(instance.threads, 90)
    wait_for(lambda: instance.state == "REBALANCING", 180)
    assert instance.end(number, seconds=10) == 0
    instance.wait_until_gone(90)


@pytest.fixture
def own_broker(needs_java: None, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker that a test may kill."""
    broker = EmbeddedBroker(tmp_path / "broker")
    broker.start()
    yield broker
    broker.stop()


@SIGNALS
@pytest.mark.slow
def test_signal_while_kafka_is_away_ends_the_program(
    start: Start, topics: Any, own_broker: EmbeddedBroker, number: Signals
) -> None:
    """A broker that does not answer is not waited for."""
    servers = own_broker.bootstrap_servers
    admin = Admin({"bootstrap.servers": servers})
    for topic in topics:
        admin.create_topic(topic, partitions=2)
    instance = start(bootstrap_servers=servers)
    instance.wait_until_running()
    own_broker.kill()
    wait_for(lambda: instance.told()["waiting_for"], 180)
    assert instance.end(number, seconds=25) == 0
    instance.wait_until_gone(90)
    assert "offset-out-of-range" not in instance.log


def test_killed_driver_leaves_no_process_behind(start: Start) -> None:
    """Neither Spark nor a stream thread outlives the program."""
    instance = start()
    instance.wait_until_running()
    assert len(instance.threads()) == 2
    instance.send(SIGKILL)
    instance.wait_until_gone(90)


# Stream threads


def counted(each: int) -> dict[str, int]:
    return {f"w{number}": each for number in range(10)}


@pytest.fixture
def running(streams_of: Make, topics: Any) -> Callable[..., tuple[ps.KafkaStreams, list[ps.State]]]:
    """Starts an application in this process; what it was before and is now is in the list."""

    def start(pause_s: float = 0.0, **config: Any) -> tuple[ps.KafkaStreams, list[ps.State]]:
        config = {"num_stream_threads": 2, "statestore_cache_max_bytes": 0, **config}
        streams = streams_of(counts(*topics, pause_s), **config)
        seen: list[ps.State] = []
        streams.set_state_listener(lambda new, old: seen.append(new))
        streams.start()
        return streams, seen

    return start


def test_thread_killed_between_batches_is_restored_in_the_same_run(
    running: Any, topics: Any, produce: Write, committed: Records
) -> None:
    """Another process takes its place, and the application stays RUNNING."""
    source, sink = topics
    streams, seen = running()
    produce(source, *words(1_000))
    assert streams.run_until_idle("300s")
    os.kill(thread_process(streams, 1), SIGKILL)
    produce(source, *words(1_000))
    wait_for(lambda: exact(committed(sink)) == counted(200), 180)
    assert dict(streams.store("counts").all()) == counted(200)
    assert seen == [ps.State.REBALANCING, ps.State.RUNNING]


@pytest.mark.slow
def test_thread_killed_without_input_answers_queries_again(
    running: Any, topics: Any, produce: Write
) -> None:
    """The driver notices by itself that a stream thread is gone."""
    streams, seen = running()
    produce(topics[0], *words(1_000))
    assert streams.run_until_idle("300s")
    for number in (0, 1):
        os.kill(thread_process(streams, number), SIGKILL)
    wait_for(lambda: dict(streams.store("counts").all()) == counted(100), 180)
    assert seen == [ps.State.REBALANCING, ps.State.RUNNING]


def batches(streams: ps.KafkaStreams) -> int:
    runner = streams._runner()
    return 0 if runner is None else runner.progress.batches


def test_thread_killed_inside_batches_loses_nothing(
    running: Any, topics: Any, produce: Write, committed: Records
) -> None:
    """The batch runs again in the same run; every key is counted once."""
    source, sink = topics
    streams, seen = running(pause_s=0.001, penstock_max_batch_records=500)
    for number in (0, 1):
        done = batches(streams)
        produce(source, *words(2_000))
        # Four batches: when the first is done, the second is under way.
        wait_for(lambda done=done: batches(streams) > done, 180)  # type: ignore[misc]
        os.kill(thread_process(streams, number), SIGKILL)
    wait_for(lambda: exact(committed(sink)) == counted(400), 180)
    assert dict(streams.store("counts").all()) == counted(400)
    assert seen == [ps.State.REBALANCING, ps.State.RUNNING]


@pytest.mark.slow
def test_thread_paused_inside_a_batch_is_replaced(
    running: Any, topics: Any, produce: Write, committed: Records
) -> None:
    """A process that is silent for 20 s is given up, and Spark kills it."""
    source, sink = topics
    streams, seen = running(pause_s=0.001, penstock_max_batch_records=500)
    produce(source, *words(4_000))
    wait_for(lambda: committed(sink), 180)
    paused = thread_process(streams, 1)
    os.kill(paused, SIGSTOP)
    try:
        wait_for(lambda: exact(committed(sink)) == counted(400), 180)
        assert thread_process(streams, 1) != paused
        wait_for(lambda: not Path(f"/proc/{paused}").exists(), 60, "the paused process ends")
    finally:
        if Path(f"/proc/{paused}").exists():
            os.kill(paused, SIGCONT)
    assert seen == [ps.State.REBALANCING, ps.State.RUNNING]


@pytest.mark.slow
def test_thread_paused_between_batches_is_replaced(
    running: Any, topics: Any, produce: Write, committed: Records
) -> None:
    """Without input, too: its stores can be asked again, and Spark ends the paused process."""
    source, sink = topics
    streams, seen = running()
    produce(source, *words(1_000))
    assert streams.run_until_idle("300s")
    paused = thread_process(streams, 0)
    os.kill(paused, SIGSTOP)
    wait_for(lambda: not Path(f"/proc/{paused}").exists(), 60, "the paused process ends")
    assert dict(streams.store("counts").all()) == counted(100)
    produce(source, *words(10))
    wait_for(lambda: exact(committed(sink)) == counted(101), 60)
    assert seen == [ps.State.REBALANCING, ps.State.RUNNING]


def test_task_killed_by_spark_runs_again(
    running: Any, topics: Any, produce: Write, committed: Records
) -> None:
    """Spark starts the task again, and nothing is lost; a user may do this on Spark's pages."""
    source, sink = topics
    streams, seen = running(pause_s=0.001, penstock_max_batch_records=500)
    done = batches(streams)
    produce(source, *words(2_000))
    wait_for(lambda: batches(streams) > done, 180)
    runner = streams._runner()
    assert runner is not None
    threads, java = runner.placement.threads, cast("Any", runner.placement.threads.context._jsc)
    for each in list(threads._living.values()):
        assert each.hello.task is not None
        java.sc().killTaskAttempt(each.hello.task.attempt, True, "a test wants it")
    wait_for(lambda: exact(committed(sink)) == counted(200), 180)
    assert seen == [ps.State.REBALANCING, ps.State.RUNNING]


def test_killed_python_daemon_takes_its_threads_along_and_all_come_back(
    start: Start, topics: Any, produce: Write, committed: Records
) -> None:
    """A thread whose daemon is gone would be nobody's child, and nobody could end it."""
    source, sink = topics
    instance = start(pause_s=0.001)
    instance.wait_until_running()
    produce(source, *words(2_000))
    wait_for(lambda: committed(sink), 180)
    before = instance.threads()
    parents = {parent_of(pid) for pid in before.values()}
    assert len(parents) == 1
    instance.send(SIGKILL, parents.pop())
    wait_for(lambda: exact(committed(sink)) == counted(200), 180)
    assert not set(before.values()) & set(instance.processes())
    assert instance.end() == 0
    instance.wait_until_gone(60)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.slow
def test_function_that_hangs_does_not_keep_the_program_from_ending(
    start: Start, topics: Any, produce: Write
) -> None:
    """Neither the program nor the process in which the function hangs stays."""
    instance = start(pause_s=600.0)
    wait_for(lambda: instance.state == "RUNNING", 180)
    produce(topics[0], *words(10))
    time.sleep(3)
    assert instance.threads()
    instance.end(SIGTERM, seconds=60)
    instance.wait_until_gone(30)


@pytest.mark.slow
def test_a_minute_without_input_keeps_state_warm(
    running: Any, topics: Any, produce: Write, committed: Records
) -> None:
    """Spark ends idle Python workers after a minute; stream threads are not among them."""
    source, sink = topics
    streams, _ = running()
    produce(source, *words(1_000))
    assert streams.run_until_idle("300s")
    restored = streams.metrics().restored_records
    time.sleep(75)
    assert dict(streams.store("counts").all()) == counted(100)
    produce(source, *words(10))
    wait_for(lambda: exact(committed(sink)) == counted(101), 180)
    assert streams.metrics().restored_records == restored
