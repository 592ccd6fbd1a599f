"""Records that a former plan has left in repartition topics.

A batch may end before its records do. So an application that was closed may have left records in
its repartition topics that it has not read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_consumer
from penstock.model.topic_partition import TopicPartition

_ANSWER_S = 30.0


def topics_with_leftovers(
    positions: Mapping[TopicPartition, int], consumer_settings: Mapping[str, Any]
) -> list[str]:
    """Return the topics that have a committed record at or after the position of a partition.

    The end offset of a partition is not enough: the marker of each transaction takes an offset,
    too.
    """
    if not positions:
        return []
    settings = {
        **consumer_settings,
        # If the position is before the first record, the records in between were purged.
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
    }
    consumer = new_consumer(settings)
    found: set[str] = set()
    waiting = set(positions)
    deadline = time.monotonic() + _ANSWER_S
    try:
        consumer.assign([ClientPartition(*part, at) for part, at in positions.items()])
        while waiting:
            message = consumer.poll(0.5)
            error = None if message is None else message.error()
            if message is not None and (error is None or error.code() == KafkaError._PARTITION_EOF):
                part = str(message.topic()), int(message.partition() or 0)
                found |= {part[0]} if error is None and part in waiting else set()
                waiting.discard(part)
            elif time.monotonic() > deadline:
                raise _silent(sorted({topic for topic, _ in waiting}), error)
    finally:
        consumer.close()
    return sorted(found)


def _silent(topics: list[str], error: KafkaError | None) -> StreamsError:
    said = error.str() if error else f"no answer in {_ANSWER_S:.0f} s"
    return StreamsError(
        "repartition-topics",
        f"repartition topics {', '.join(map(repr, topics))} cannot be read: {said}",
        fix="check that the broker is up and that the topics have not been deleted",
    )
