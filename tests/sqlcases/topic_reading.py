"""Reads the committed records of a topic from its beginning to its present end."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, TopicPartition

from penstock.kafka.admin import Admin
from penstock.runtime.local.outbox import ProducedRecord

#: Times of cases are old, and the end of a transaction is of today. Between the two Kafka begins a
#: new file, and may compact the topic of a table before it is read. The lag counts from the
#: times of the records.
UNCOMPACTED = {"log.cleaner.min.compaction.lag.ms": str(2**63 - 1)}


def committed_records(servers: str, topic: str) -> Iterator[ProducedRecord]:
    """Give the records of all partitions of a topic, partition by partition."""
    partitions = [each.id for each in Admin({"bootstrap.servers": servers}).topic(topic).partitions]
    for partition in partitions:
        yield from _of_partition(servers, topic, partition)


def _of_partition(servers: str, topic: str, partition: int) -> Iterator[ProducedRecord]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "sql-cases-reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    try:
        while True:
            message = consumer.poll(30.0)
            assert message is not None, f"no answer while reading {topic}"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return
            yield ProducedRecord(
                topic, message.key(), message.value(), message.timestamp()[1],
                tuple(message.headers() or ()), 0,
            )  # fmt: skip
    finally:
        consumer.close()
