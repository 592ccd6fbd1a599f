"""What SQL statements do to a real cluster, without Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.kafka.admin import Admin
from penstock.model.partitioning import partition_for
from penstock.sql import SqlEngine, SqlError

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
    # Whatever other tests of this process have done to logging.
    logger = logging.getLogger("penstock.sql")
    logger.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.WARNING, logger.name):
            engine.execute(f"{stream} INSERT INTO {name} (id, n, rowtime) VALUES ('ann', 1, 0);")
    finally:
        logger.removeHandler(caplog.handler)
    assert times(kafka_broker, f"{name}-Orders") == [(partition_for(b"ann", 3), 1)]
    assert "cannot write" in caplog.text


def test_dropped_topic_is_deleted(connected: Connected, stream: str, kafka_admin: Admin) -> None:
    """DELETE TOPIC deletes; without it the topic stays, and a topic of another stream does, too."""
    engine, name = connected(), name_of(stream)
    topic = f"{name}-Orders"
    engine.execute(f"{stream} INSERT INTO {name} VALUES ('ann', 1);")
    engine.execute(f"DROP STREAM {name};")
    assert topic in kafka_admin.topics()
    engine.execute(f"{stream} {stream.replace(name, name + '_2', 1)}")
    with pytest.raises(SqlError, match="the same topic"):
        engine.execute(f"DROP STREAM {name} DELETE TOPIC;")
    engine.execute(f"DROP STREAM {name}_2; DROP STREAM {name} DELETE TOPIC;")
    assert topic not in kafka_admin.topics()


def test_topic_that_is_dropped_and_made_again_is_empty(
    connected: Connected, stream: str, kafka_broker: str
) -> None:
    """The statements of one script are done in their order."""
    engine, name = connected(), name_of(stream)
    engine.execute(f"{stream} INSERT INTO {name} (id, n, rowtime) VALUES ('old', 1, 5);")
    engine.execute(
        f"DROP STREAM {name} DELETE TOPIC; {stream}"
        f" INSERT INTO {name} (id, n, rowtime) VALUES ('new', 1, 7);"
    )
    assert [time_ms for _, time_ms in times(kafka_broker, f"{name}-Orders")] == [7]


def test_schemas_of_a_deleted_topic_are_deleted(connected: Connected, stream: str) -> None:
    """A topic that is made again may have other columns."""
    engine, name = connected(), name_of(stream)
    engine.execute(stream.replace("JSON", "AVRO"))
    subject = f"{name}-Orders-value"
    assert engine.registry.latest(subject) is not None
    engine.execute(f"DROP STREAM {name} DELETE TOPIC;")
    assert engine.registry.latest(subject) is None


def test_assertion_sees_what_others_do_to_the_cluster(
    connected: Connected, kafka_admin: Admin, new_topic: Callable[..., str]
) -> None:
    """ASSERT TOPIC asks the broker each time, and waits as long as TIMEOUT says."""
    engine = connected()
    name = new_topic("Late", partitions=2)
    engine.execute(f"ASSERT TOPIC `{name}` WITH (PARTITIONS=2, REPLICAS=1) TIMEOUT 5 SECONDS;")
    with pytest.raises(SqlError, match="2 partitions"):
        engine.execute(f"ASSERT TOPIC `{name}` WITH (PARTITIONS=3) TIMEOUT 10 MILLISECONDS;")
    kafka_admin.delete_topics([name])
    engine.execute(f"ASSERT NOT EXISTS TOPIC `{name}` TIMEOUT 5 SECONDS;")
    later = threading.Timer(0.3, kafka_admin.create_topic, [name])
    later.start()
    engine.execute(f"ASSERT TOPIC `{name}` TIMEOUT 10 SECONDS;")
    later.join()


def test_paused_query_is_paused_in_the_next_process(connected: Connected, stream: str) -> None:
    """PAUSE is kept in Kafka until RESUME or TERMINATE, whoever runs the script next."""
    name = name_of(stream)
    script = f"{stream} CREATE STREAM {name}_c AS SELECT * FROM {name};"

    def state_after(*statements: str) -> str:
        engine = connected(ksql_service_id=name)
        engine.execute(script)
        for statement in statements:
            engine.execute(statement)
        (query,) = engine.queries.values()
        return query.state

    query_id = f"CSAS_{name.upper()}_C_0"
    assert state_after() == "RUNNING"
    assert state_after(f"PAUSE {query_id};") == "PAUSED"
    assert state_after() == "PAUSED"
    assert state_after(f"RESUME {query_id};") == "RUNNING"
    assert state_after() == "RUNNING"


def test_select_is_answered_from_the_cluster(
    connected: Connected, stream: str, kafka_broker: str
) -> None:
    """What another process has inserted is there as well."""
    name = name_of(stream)
    other = connected()
    other.execute(f"{stream} INSERT INTO {name} VALUES ('ann', 1);")
    engine = connected()
    results = engine.execute(
        f"{stream} INSERT INTO {name} VALUES ('bob', 2); SELECT * FROM {name};"
    )
    assert sorted(results[-1].rows) == [("ann", 1), ("bob", 2)]  # type: ignore[attr-defined]
