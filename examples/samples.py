"""What lets an example run by itself: a private broker, topics, and records out of ``data``.

No application needs this: elsewhere the topics exist and other programs fill them.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from penstock import Serdes
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.embedded import shared_broker
from penstock.serde.serdes import resolve_serde

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Sample:
    """One record of a sample file, as text and JSON have it."""

    topic: str
    key: str | None
    value: Any
    time_ms: int

    @property
    def value_bytes(self) -> bytes | None:
        if self.value is None or isinstance(self.value, str):
            return None if self.value is None else self.value.encode()
        return json.dumps(self.value, ensure_ascii=False).encode()


def read_samples(file: str, topic: str | None = None) -> list[Sample]:
    """Reads ``data/file``: a ``.txt`` has one value per line, a ``.jsonl`` one record per line.

    A record has ``topic``, ``key``, ``value`` and either ``time`` (ISO 8601) or ``ago``
    (seconds before now).
    """
    lines = (DATA / file).read_text(encoding="utf-8").splitlines()
    now = time.time_ns() // 1_000_000
    if not file.endswith(".jsonl"):
        return [Sample(str(topic), None, line, now) for line in lines if line.strip()]
    return [_sample(json.loads(line), now) for line in lines if line.strip()]


def _sample(record: dict[str, Any], now: int) -> Sample:
    if "ago" in record:
        time_ms = now - round(record["ago"] * 1000)
    else:
        time_ms = round(datetime.fromisoformat(record["time"]).timestamp() * 1000)
    return Sample(record["topic"], record.get("key"), record["value"], time_ms)


def fill(
    servers: str,
    samples: list[Sample],
    *,
    topics: tuple[str, ...] = (),
    partitions: int = 2,
) -> None:
    """Makes the samples' topics and the other ``topics``, and writes the samples."""
    names = dict.fromkeys((*(sample.topic for sample in samples), *topics))
    Admin({"bootstrap.servers": servers}).create_topics(
        TopicSpec(name, partitions) for name in names
    )
    # Keys go to the partitions that Java's producers would choose.
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random"})
    for sample in samples:
        producer.produce(sample.topic, sample.value_bytes, sample.key, timestamp=sample.time_ms)
    producer.flush()


@contextmanager
def sandbox(prepare: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Gives the settings of a private broker that ``prepare`` has filled, and a fresh state."""
    servers = shared_broker().bootstrap_servers
    prepare(servers)
    with tempfile.TemporaryDirectory(prefix="penstock-example-") as folder:
        yield {"bootstrap.servers": servers, "state.dir": folder}


def read_topic(servers: str, topic: str, key: Any = str, value: Any = str) -> list[tuple[Any, Any]]:
    """Reads what is in a topic now, partition after partition, with the given serdes."""
    key_serde = resolve_serde(key) or Serdes.string()
    value_serde = resolve_serde(value) or Serdes.string()
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "examples",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    parts = consumer.list_topics(topic).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in parts])
    found: dict[int, list[tuple[Any, Any]]] = {number: [] for number in parts}
    waiting = set(parts)
    while waiting:
        message = consumer.poll(10)
        if message is None:
            break
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            waiting.discard(message.partition())
        elif error is None:
            found[message.partition()].append(
                (
                    key_serde.deserialize(topic, message.key()),
                    value_serde.deserialize(topic, message.value()),
                )
            )
    consumer.close()
    return [record for number in sorted(found) for record in found[number]]
