"""Failures of an application, each with its documented outcome."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import penstock as ps
from penstock.errors import ConfigError, PenstockError, StoreError, StreamsError, TopologyError
from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def upper(source: str, sink: str) -> ps.Topology:
    builder = ps.StreamsBuilder()

    def shout(value: str) -> str:
        if value == "bad":
            raise KeyError("amount")
        return value.upper()

    builder.stream(source).map_values(shout).to(sink)
    return builder.build()


def ended(streams: ps.KafkaStreams) -> StreamsError:
    assert streams.wait("120s")
    assert streams.state is ps.State.ERROR
    assert isinstance(streams.error, StreamsError)
    return streams.error


def test_a_raising_function_stops_the_client_and_names_line_and_record(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """Nothing of the batch is committed; the error says which line failed on which record."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, ("a", "fine"), ("b", "bad"))
    streams = streams_of(upper(source, sink))
    streams.start()
    error = ended(streams)
    assert error.code == "user-function"
    assert "KeyError('amount')" in error.message
    assert f"topic '{source}' partition 0 offset 1" in error.message
    assert "test_failures.py:" in str(error)
    assert committed(sink) == []


def test_a_raising_function_can_be_skipped_with_dead_letters(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """With the continue handler the record goes to the dead letter topic, once."""
    source, sink, dead = new_topic("in"), new_topic("out"), new_topic("dead")
    produce(source, ("a", "fine"), ("b", "bad"), ("c", "too"))
    config = {
        "processing_exception_handler": "continue",
        "errors_dead_letter_queue_topic_name": dead,
    }
    with streams_of(upper(source, sink), **config) as streams:
        assert streams.run_until_idle("300s")
    assert [value for _, value in committed(sink)] == [b"FINE", b"TOO"]
    assert committed(dead) == [(b"b", b"bad")]


def test_a_poison_record_stops_or_is_skipped(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """The default is to stop; the continue handler skips what cannot be decoded."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, ("a", b"not a long"))
    builder = ps.StreamsBuilder()
    builder.stream(source, value="long").map_values(lambda n: n + 1).to(sink)
    streams = streams_of(builder.build())
    streams.start()
    assert ended(streams).code == "deserialization"
    with streams_of(builder.build(), deserialization_exception_handler="continue") as again:
        assert again.run_until_idle("300s")
        assert committed(sink) == []


def test_replace_thread_tries_again_until_it_works(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, tmp_path: Path
) -> None:
    """The batch runs again from the committed state; nothing is lost or doubled."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, *[(f"k{n}", "v") for n in range(20)])
    flag = tmp_path / "fixed"
    builder = ps.StreamsBuilder()

    def flaky(value: str) -> str:
        if not flag.exists():
            raise RuntimeError("not yet")
        return value

    builder.stream(source).map_values(flaky).to(sink)
    streams = streams_of(builder.build())

    def handler(error: Exception) -> ps.ExceptionResponse:
        flag.touch()
        return ps.ExceptionResponse.REPLACE_THREAD

    streams.set_uncaught_exception_handler(handler)
    streams.start()
    assert streams.run_until_idle("300s")
    assert len(committed(sink)) == 20


def test_a_missing_source_topic_is_refused_at_start(streams_of: Make, new_topic: Any) -> None:
    """The error names the topic, the line and the command that creates it."""
    streams = streams_of(upper("no-such-topic", new_topic("out")))
    with pytest.raises(TopologyError) as caught:
        streams.start()
    assert caught.value.code == "missing-source-topic"
    assert "test_failures.py:" in str(caught.value)
    assert streams.state is ps.State.ERROR


def test_a_missing_topic_for_dead_letters_is_refused_at_start(
    streams_of: Make, new_topic: Any
) -> None:
    """Not at the first bad record, which may come weeks later."""
    streams = streams_of(
        upper(new_topic("in"), new_topic("out")), errors_dead_letter_queue_topic_name="no-letters"
    )
    with pytest.raises(ConfigError) as caught:
        streams.start()
    assert caught.value.code == "missing-dead-letter-topic"
    assert "penstock topics create no-letters" in str(caught.value)
    assert streams.state is ps.State.ERROR


def test_a_missing_output_topic_is_refused_at_start(streams_of: Make, new_topic: Any) -> None:
    """Not at the first record: the broker of the tests creates no topics by itself."""
    streams = streams_of(upper(new_topic("in"), "no-such-output"))
    with pytest.raises(TopologyError) as caught:
        streams.start()
    assert caught.value.code == "missing-topic"
    assert "'no-such-output'" in caught.value.message
    assert "test_failures.py:" in str(caught.value)
    assert "penstock topics create no-such-output" in str(caught.value)
    assert streams.state is ps.State.ERROR


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_an_output_topic_that_is_gone_is_named_soon(
    streams_of: Make, new_topic: Any, produce: Write, kafka_broker: str, guarantee: str
) -> None:
    """Kafka's client hopes for 30 s that it has just been made."""
    source, sink = new_topic("in"), new_topic("gone")
    streams = streams_of(upper(source, sink), processing_guarantee=guarantee)
    streams.start()
    Admin({"bootstrap.servers": kafka_broker}).delete_topics([sink])
    produce(source, ("a", "fine"))
    began = time.monotonic()
    error = ended(streams)
    assert time.monotonic() - began < 25
    assert error.code == "missing-topic"
    assert f"'{sink}'" in error.message
    assert f"penstock topics create {sink}" in str(error)


def test_topics_that_are_not_copartitioned_are_refused_at_start(
    streams_of: Make, new_topic: Any
) -> None:
    """Wrong results are worse than an error."""
    orders, users = new_topic("orders", partitions=4), new_topic("users", partitions=2)
    builder = ps.StreamsBuilder()
    builder.stream(orders).join(builder.table(users), lambda a, b: a + b).to(new_topic("out"))
    with pytest.raises(TopologyError) as caught:
        streams_of(builder.build()).start()
    assert caught.value.code == "co-partitioning"


def test_a_second_process_on_the_same_state_directory_is_refused(
    streams_of: Make, new_topic: Any, tmp_path: Path, application_id: str
) -> None:
    """The lock names the process that has it."""
    source, sink = new_topic("in"), new_topic("out")
    with streams_of(upper(source, sink)):
        program = (
            "from pathlib import Path\n"
            "from penstock.runtime.spark.driver.state_lock import StateLock\n"
            f"StateLock(Path({str(tmp_path / 'state' / application_id)!r})).acquire()\n"
        )
        other = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
    assert other.returncode != 0
    assert "[state-locked]" in other.stderr
    assert issubclass(StoreError, PenstockError)


def test_a_topic_deleted_under_the_application_ends_it_with_its_name(
    streams_of: Make, new_topic: Any, produce: Write, kafka_admin: Any
) -> None:
    """It fails clearly instead of waiting for ever."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, ("a", "x"))
    streams = streams_of(upper(source, sink), task_timeout_ms=1_000)
    streams.start()
    assert streams.run_until_idle("300s")
    kafka_admin.delete_topics([source])
    deadline = time.monotonic() + 120
    while streams.state is ps.State.RUNNING and time.monotonic() < deadline:
        time.sleep(0.5)
    assert streams.wait("60s")
    assert source in str(streams.error)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes; only root can make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "penstock-test", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no small disk can be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


DISK_MB = 12


def test_a_full_disk_is_waited_for_and_nothing_is_lost(
    streams_of: Make, produce: Write, new_topic: Any, committed: Records, small_disk: Path
) -> None:
    """It says which disk is full, ends after ``task.timeout.ms``, and goes on with room."""
    source, sink = new_topic("events"), new_topic("counts")
    builder = ps.StreamsBuilder()
    builder.stream(source).group_by_key().count("counts").to_stream().to(sink)
    topology = builder.build()
    # Random names do not compress, and RocksDB keeps its memory until it is told to write.
    setter = SmallBuffers
    settings = {"state_dir": str(small_disk), "rocksdb_config_setter": setter,
                "penstock_max_batch_records": 5_000, "statestore_cache_max_bytes": 0}  # fmt: skip
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (DISK_MB - 2) * 1024 * 1024)
    names = [secrets.token_urlsafe(150) for _ in range(30_000)]
    produce(source, *((name, "x") for name in names))
    failed = streams_of(topology, **settings, task_timeout_ms=2_000)
    failed.start()
    error = ended(failed)
    assert error.code == "disk-full", error
    assert str(small_disk) in str(error)
    assert "nothing that was committed is lost" in str(error)
    failed.close("180s")
    again = streams_of(topology, **settings)
    again.start()
    deadline = time.monotonic() + 120
    while str(small_disk) not in (again.waiting_for or "") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "full" in (again.waiting_for or "")
    filler.unlink()
    produce(source, *((name, "y") for name in names[:100]))
    assert again.run_until_idle("300s")
    counts = Counter(bytes(key).decode() for key, _ in committed(sink))
    assert counts.keys() == set(names)
    assert {counts[name] for name in names[:100]} == {2}
    assert {counts[name] for name in names[100:]} == {1}


class SmallBuffers:
    """Makes RocksDB write to disk early."""

    @staticmethod
    def set_config(store: str, options: Any, configs: Any) -> None:
        options.set_write_buffer_size(256 * 1024)


@pytest.mark.chaos
def test_a_broker_that_is_away_is_waited_for(spark: Any, tmp_path: Path) -> None:
    """The batch runs again when it is back; nothing is lost or doubled."""
    broker = EmbeddedBroker(tmp_path / "broker")
    broker.start()
    try:
        servers = broker.bootstrap_servers
        admin = Admin({"bootstrap.servers": servers})
        for topic in ("in", "out"):
            admin.create_topic(topic, partitions=2)
        streams = ps.KafkaStreams(
            upper("in", "out"),
            {"application.id": "waits", "bootstrap.servers": servers,
             "state.dir": str(tmp_path / "state"), "commit.interval.ms": 20,
             "processing.guarantee": "exactly_once_v2"},
        )  # fmt: skip
        with streams:
            write(servers, "in", [f"a{number}" for number in range(100)])
            assert streams.run_until_idle("300s")
            broker.kill()
            time.sleep(AWAY_S)
            assert streams.state in (ps.State.RUNNING, ps.State.REBALANCING)
            broker.start()
            write(servers, "in", [f"b{number}" for number in range(100)])
            wait_for(lambda: len(values(servers, "out")) >= 200, 120)
        expected = [f"{letter}{number}" for letter in "AB" for number in range(100)]
        assert sorted(values(servers, "out")) == sorted(expected)
    finally:
        broker.stop()


AWAY_S = float(os.environ.get("PENSTOCK_BROKER_AWAY_S", "60"))


def wait_for(is_true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s"
        time.sleep(0.5)


def write(servers: str, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 1})
    for value in values:
        producer.produce(topic, value, value)
    assert producer.flush(60) == 0


def values(servers: str, topic: str) -> list[str]:
    """All committed values of a topic of two partitions."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "check", "enable.partition.eof": True,
         "isolation.level": "read_committed", "enable.auto.commit": False}
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(2)])
    found: list[str] = []
    ends = 0
    while ends < 2:
        for message in consumer.consume(1_000, 0.2):
            if message.error() is None:
                found.append(bytes(message.value() or b"").decode())
            else:
                ends += 1
    consumer.close()
    return found
