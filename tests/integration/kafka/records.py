"""Write and read records as any client would, for tests of brokers."""

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

Pair = tuple[str | None, str | None]


def write(bootstrap: str, topic: str, pairs: Iterable[Pair], timestamp: int = 0) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    for key, value in pairs:
        producer.produce(topic, value, key, timestamp=timestamp)
    assert producer.flush(30) == 0


def read(bootstrap: str, topic: str, partition: int = 0, *, committed: bool = True) -> list[Pair]:
    """All records of a partition, up to its present end."""
    level = "read_committed" if committed else "read_uncommitted"
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": level,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[Pair] = []
    while (message := consumer.poll(30)) is not None:
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            consumer.close()
            return found
        found.append((_text(message.key()), _text(message.value())))
    raise AssertionError(f"no answer while reading {topic}")


def _text(data: str | bytes | None) -> str | None:
    return data.decode() if isinstance(data, bytes) else data
