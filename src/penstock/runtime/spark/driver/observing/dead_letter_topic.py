"""The dead letter topic of a running application, as its server reads it and sends again."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.config import DEAD_LETTER_TOPIC, StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import producer_settings
from penstock.kafka.clients import new_producer, sendable_time
from penstock.kafka.topic_reader import read_to_end
from penstock.kernel.serdes import required_serde
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.driver.observing.topic_spans import (
    Offsets,
    Read,
    TopicSpans,
    headers_of,
)
from penstock.serving.failed.values import Delivery, Letter, Letters, Outgoing, SourceSerdes
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source

#: Letters beyond these bytes are left out, the oldest first.
_MOST_BYTES = 32 * 1024 * 1024
#: Transactions have settings that a producer without them refuses.
_OF_TRANSACTIONS = ("transaction.timeout.ms", "transactional.id")
_LINGER_MS = 5


class DeadLetterTopic:
    """Reads letters, and writes records into topics that the application reads.

    Args:
        topic: the name of the topic of dead letters.
        graph: the topology, for the serdes of its sources.
        config: the configuration; that of a run, if a private broker was started.
        admin: opens the connection for questions about topics.
        read: reads spans of partitions.
        producer: makes the producer, when something is sent for the first time.
    """

    def __init__(
        self,
        topic: str,
        graph: Graph,
        config: StreamsConfig,
        *,
        admin: Callable[[Mapping[str, Any]], Offsets] = Admin,
        read: Read = read_to_end,
        producer: Callable[[Mapping[str, Any]], Producer] = new_producer,
    ) -> None:
        self.topic = topic
        self._graph, self._config = graph, config
        self._spans = TopicSpans(config, "dead-letters-unreachable", admin=admin, read=read)
        self._make_producer = producer
        self._producer: Producer | None = None
        self._lock = threading.Lock()
        self._serdes = _source_serdes(graph, config)

    def latest(self, most: int) -> Letters:
        bounds = self._spans.bounds(self.topic)
        spans = {place: (max(begin, end - most), end) for place, (begin, end) in bounds.items()}
        kept: deque[Letter] = deque()
        size, is_whole = 0, all(spans[place][0] == bounds[place][0] for place in spans)
        for letter in map(_letter, self._spans.read(self.topic, spans)):
            kept.append(letter)
            size += letter.size
            while size > _MOST_BYTES and len(kept) > 1:
                size -= kept.popleft().size
                is_whole = False
        found = sorted(kept, key=lambda each: each.place)
        return Letters(letters=found, is_whole=is_whole)

    def one(self, partition: int, offset: int) -> Letter | None:
        place = self.topic, partition
        begin, end = self._spans.bounds(self.topic).get(place, (0, 0))
        if not begin <= offset < end:
            return None
        span = {place: (offset, offset + 1)}
        found = [*map(_letter, self._spans.read(self.topic, span))]
        return found[0] if found and found[0].offset == offset else None

    def serdes(self, topic: str) -> SourceSerdes | None:
        known = self._serdes.get(topic)
        if known is not None or not topic:
            return known
        for node in self._graph.nodes.values():
            if isinstance(node, Source) and node.pattern and node.pattern.fullmatch(topic):
                return _serdes_of(node, self._config)
        return None

    def site(self, node: str) -> str | None:
        known = self._graph.nodes.get(node)
        return None if known is None else known.site

    def send(self, records: Sequence[Outgoing], patience_s: float) -> Sequence[Delivery]:
        unknown = Delivery(error="Kafka has not confirmed it in time: it may have arrived")
        found = [unknown] * len(records)

        def note(place: int) -> Callable[[KafkaError | None, Message], None]:
            def delivered(error: KafkaError | None, message: Message) -> None:
                found[place] = (
                    Delivery(partition=message.partition() or 0, offset=message.offset() or 0)
                    if error is None
                    else Delivery(error=error.str())
                )

            return delivered

        with self._lock:
            if self._producer is None:
                self._producer = self._make_producer(_producer_settings(self._config))
            for place, record in enumerate(records):
                try:
                    self._producer.produce(
                        record.topic, record.value, record.key,
                        -1 if record.partition is None else record.partition,
                        note(place), timestamp=sendable_time(record.timestamp),
                        headers=[*record.headers],
                    )  # fmt: skip
                except (KafkaException, BufferError) as error:
                    found[place] = Delivery(error=str(error))
            self._producer.flush(patience_s)
        return [*found]


def dead_letter_topic(graph: Graph, config: StreamsConfig) -> DeadLetterTopic | None:
    """Return the topic that the configuration names; None if it names none."""
    topic = config[DEAD_LETTER_TOPIC]
    return DeadLetterTopic(topic, graph, config) if topic else None


def _source_serdes(graph: Graph, config: StreamsConfig) -> dict[str, SourceSerdes]:
    """Return the serdes of each topic that a source names, under its real name."""
    settings, found = task_settings(config), {}
    for node in graph.nodes.values():
        if isinstance(node, Source):
            for name in node.topics:
                is_internal = name in graph.internal_topics
                topic = settings.topic(name) if is_internal else name
                found[topic] = _serdes_of(node, config, is_internal=is_internal)
    return found


def _serdes_of(node: Source, config: StreamsConfig, *, is_internal: bool = False) -> SourceSerdes:
    defaults, what = task_settings(config).defaults, f"source node {node.name!r}"
    return SourceSerdes(
        key=required_serde(node.key_serde, defaults, "key", what, node.site),
        value=required_serde(node.value_serde, defaults, "value", what, node.site),
        is_internal=is_internal,
    )


def _producer_settings(config: StreamsConfig) -> dict[str, Any]:
    settings = producer_settings(config)
    for name in _OF_TRANSACTIONS:
        settings.pop(name, None)
    # Records keep their order, and none is there twice, also after an error of the network.
    return {**settings, "enable.idempotence": True, "acks": "all", "linger.ms": _LINGER_MS}


def _letter(message: Message) -> Letter:
    return Letter(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        headers=headers_of(message),
    )
