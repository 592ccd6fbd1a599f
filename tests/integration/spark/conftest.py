"""Fixtures of the tests on real Spark: one session and one broker for the whole run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from penstock import KafkaStreams, StreamsConfig, Topology
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.session import spark_session
from tests.integration.spark.instances import Instance


@pytest.fixture(scope="session")
def spark(needs_java: None) -> Iterator[Any]:
    """One Spark for all tests: starting it takes longer than most of them."""
    config = StreamsConfig(
        {"application.id": "tests", "num.stream.threads": 2, "spark.ui.port": "0"}
    )
    with pytest.MonkeyPatch.context() as patch:
        # Nobody outside of this machine needs Spark's pages.
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session, _ = spark_session(config)
    yield session
    session.stop()


@pytest.fixture
def application_id() -> str:
    return f"app-{uuid4().hex[:8]}"


@pytest.fixture
def streams_of(
    spark: Any, kafka_broker: str, tmp_path: Path, application_id: str
) -> Iterator[Callable[..., KafkaStreams]]:
    """Makes applications on the shared session, and closes what a test leaves open."""
    made: list[KafkaStreams] = []

    def make(topology: Topology, **config: Any) -> KafkaStreams:
        settings = {
            "application.id": application_id,
            "bootstrap.servers": kafka_broker,
            "state.dir": str(tmp_path / "state"),
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 20,
        }
        settings |= {name.replace("_", "."): value for name, value in config.items()}
        streams = KafkaStreams(topology, settings)
        made.append(streams)
        return streams

    yield make
    for streams in made:
        streams.close("180s")


@pytest.fixture
def topics(new_topic: Callable[..., str]) -> tuple[str, str]:
    """A source and a sink for applications that run as processes of their own."""
    return new_topic("words", partitions=4), new_topic("counts", partitions=2)


@pytest.fixture
def start(
    kafka_broker: str, tmp_path: Path, application_id: str, topics: tuple[str, str]
) -> Iterator[Callable[..., Instance]]:
    """Starts an application as a process of its own, and ends all its processes after the test."""
    started: list[Instance] = []

    def make(pause_s: float = 0.0, *, is_slow_to_open: bool = False, **config: Any) -> Instance:
        settings = {
            "application.id": application_id,
            "bootstrap.servers": kafka_broker,
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 50,
            "num.stream.threads": 2,
            "statestore.cache.max.bytes": 0,
            "spark.ui.enabled": "false",
        }
        settings |= {name.replace("_", "."): value for name, value in config.items()}
        folder = tmp_path / f"instance-{len(started)}"
        instance = Instance(folder, settings, *topics, pause_s, is_slow_to_open)
        started.append(instance)
        return instance.start()

    yield make
    for instance in started:
        instance.sweep()


@pytest.fixture
def produce(kafka_broker: str) -> Callable[..., None]:
    """Writes ``(key, value)`` or ``(key, value, timestamp)`` to a topic, as Java would place it."""

    def write(topic: str, *records: tuple[Any, ...]) -> None:
        producer = Producer(
            {"bootstrap.servers": kafka_broker, "partitioner": "murmur2_random", "linger.ms": 1}
        )
        for key, value, *rest in records:
            data = value if isinstance(value, bytes | str | None) else json.dumps(value)
            producer.produce(topic, data, key, timestamp=rest[0] if rest else 1_000)
        assert producer.flush(30) == 0

    return write


@pytest.fixture
def committed(kafka_broker: str, kafka_admin: Admin) -> Callable[[str], list[tuple[Any, Any]]]:
    """Reads all committed records of a topic as raw ``(key, value)``."""

    def await_markers(places: list[tuple[str, int]]) -> None:
        """Give the broker a moment: it says that a commit is done before readers see it."""
        deadline, before = time.monotonic() + 3, None
        while (ends := kafka_admin.end_offsets(places)) != kafka_admin.end_offsets(
            places, committed=True
        ):
            if time.monotonic() > deadline or before not in (None, ends):
                # An application is writing: what it has not committed is not waited for.
                return
            before = ends
            time.sleep(0.02)

    def read(topic: str) -> list[tuple[Any, Any]]:
        partitions = len(kafka_admin.topic(topic).partitions)
        await_markers([(topic, number) for number in range(partitions)])
        consumer = Consumer(
            {
                "bootstrap.servers": kafka_broker,
                "group.id": "check",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                # A fetch that waits for more never ends while an application goes on writing.
                "fetch.wait.max.ms": 10,
            }
        )
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        records: list[tuple[Any, Any]] = []
        ended = 0
        while ended < partitions:
            for message in consumer.consume(1_000, 0.2):
                error = message.error()
                if error is None:
                    records.append((message.key(), message.value()))
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ended += 1
        consumer.close()
        return records

    return read
