"""What SQL statements do to a real cluster, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.kafka.admin import Admin
from penstock.model.partitioning import partition_for
from penstock.sql import SqlEngine

pytestmark = pytest.mark.kafka

Connected = Callable[..., SqlEngine]


@pytest.fixture
def connected(kafka_broker: str) -> Iterator[Connected]:
    """Gives engines that know the cluster and run nothing."""
    opened = []

    def connect(**config: str) -> SqlEngine:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        engine = SqlEngine(settings)
        opened.append(engine.connect({"bootstrap.servers": kafka_broker}))
        return engine

    yield connect
    for each in opened:
        each.close()


@pytest.fixture
def stream(kafka_admin: Admin) -> Iterator[str]:
    """The statement of a stream over a topic of its own, which is called ``<name>-Orders``."""
    name = f"sql{uuid4().hex[:8]}"
    topic = f"{name}-Orders"
    yield (
        f"CREATE STREAM {name} (id VARCHAR KEY, n INT)"
        f" WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS=3);"
    )
    kafka_admin.delete_topics([topic], missing_ok=True)


def name_of(stream: str) -> str:
    return stream.split()[2]


def times(servers: str, topic: str) -> list[tuple[int, int]]:
    """Partition and time of each record of a topic with three partitions."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "times"})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(3)])
    found = []
    while (message := consumer.poll(5.0)) is not None:
        assert message.error() is None
        found.append((int(message.partition() or 0), message.timestamp()[1]))
    consumer.close()
    return found


def test_row_at_time_0_is_not_a_row_of_now(
    connected: Connected, stream: str, kafka_broker: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A row at time 0 must not move stream time to the present; its key goes where Java puts it."""
    engine, name = connected(), name_of(stream)
    engine.execute(f"{stream} INSERT INTO {name} (id, n, rowtime) VALUES ('ann', 1, 0);")
    assert times(kafka_broker, f"{name}-Orders") == [(partition_for(b"ann", 3), 1)]
    assert "cannot write" in caplog.text
