"""Read a range of records from Kafka and stop at its end: for ``run --demo`` and ``capture``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.kafka.admin_answers import Partition
from penstock.kafka.admin_failures import explained
from penstock.kafka.clients import new_consumer

#: The first offset of a range, and the offset after its last record.
Span = tuple[int, int]


def read_spans(settings: Mapping[str, Any], spans: Mapping[Partition, Span]) -> Iterator[Message]:
    """Yield the committed records of each partition's span; partitions are read side by side.

    Offsets inside a span may be missing: markers of transactions and records that compaction
    removed have none. So the position of the consumer, not a count, tells when a span has ended.
    """
    unread = {place: span for place, span in spans.items() if span[0] < span[1]}
    if not unread:
        return
    consumer = new_consumer(
        {
            # librdkafka requires a group, but this consumer assigns its partitions itself.
            "group.id": "penstock-reader",
            **settings,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.assign([TopicPartition(*place, span[0]) for place, span in unread.items()])
        yield from _until_ends(consumer, {place: span[1] for place, span in unread.items()})
    finally:
        consumer.close()


def _until_ends(consumer: Consumer, ends: dict[Partition, int]) -> Iterator[Message]:
    while ends:
        message = consumer.poll(0.2)
        if message is None:
            continue
        place = str(message.topic()), int(message.partition() or 0)
        error = message.error()
        if error is None:
            offset = int(message.offset() or 0)
            if place in ends and offset < ends[place]:
                yield message
            if offset + 1 >= ends.get(place, 0):
                ends.pop(place, None)
        elif error.code() == KafkaError._PARTITION_EOF:
            ends.pop(place, None)
        elif error.fatal() or not error.retriable():
            raise explained(KafkaException(error), "read records", "the cluster")
