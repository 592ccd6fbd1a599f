"""The events as records of Kafka: one topic for each kind, and the side input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson
from confluent_kafka import Producer

from bench.nexmark.events import Event
from bench.nexmark.queries import TOPICS
from penstock.kafka.admin import Admin

PARTITIONS = 4

#: Topic, key, value, time and partition; without a partition the key decides.
Record = tuple[str, bytes | None, bytes, int, int | None]


def records(
    events: Iterable[Event], side_input: dict[int, str], partitions: int
) -> Iterator[Record]:
    """Yield the side input, then each event; bids have no key and go round the partitions."""
    for key, value in side_input.items():
        yield TOPICS["side-input"], str(key).encode(), orjson.dumps({"value": value}), 0, None
    for number, event in enumerate(events):
        row = orjson.dumps(event.row)
        topic = TOPICS[event.kind]
        if event.kind == "bid":
            yield topic, None, row, event.time_ms, number % partitions
        else:
            yield topic, orjson.dumps(event.row["id"]), row, event.time_ms, None


def fill(bootstrap: str, events: Iterable[Event], side_input: dict[int, str]) -> None:
    """Create the topics and write all records; keys go where Java's producers put them."""
    admin = Admin({"bootstrap.servers": bootstrap})
    for topic in TOPICS.values():
        admin.create_topic(topic, partitions=PARTITIONS)
    settings = {
        "bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 50,
        "queue.buffering.max.messages": 1_000_000,
    }  # fmt: skip
    producer = Producer(settings)
    for topic, key, value, time_ms, partition in records(events, side_input, PARTITIONS):
        # Kafka's C client writes no time 0, and chooses a partition for -1.
        place, moment = -1 if partition is None else partition, max(time_ms, 1)
        while True:
            try:
                producer.produce(topic, value, key, partition=place, timestamp=moment)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120.0):
        raise RuntimeError("the broker did not take all events")
