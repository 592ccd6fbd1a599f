"""The dead letter topic of a running application, over fakes of Kafka's clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

import penstock as ps
from penstock.config import StreamsConfig
from penstock.kafka.admin_answers import Partition, PartitionState, Topic
from penstock.kafka.errors import UnknownTopicError
from penstock.runtime.spark.driver.observing.dead_letter_topic import (
    DeadLetterTopic,
    dead_letter_topic,
)
from penstock.serde.json import JsonSerde
from penstock.serde.primitives import LongSerde
from penstock.serving.application import NotAvailableError
from penstock.serving.failed.values import Outgoing

CONFIG = StreamsConfig(
    {
        "application.id": "app",
        "bootstrap.servers": "nowhere:1",
        "errors.dead.letter.queue.topic.name": "dead",
        "default.key.serde": "string",
        "default.value.serde": "json",
    }
)


def topology() -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream("orders", value="long").group_by(lambda _, value: value).count()
    builder.stream(re.compile("eu-.*"))
    return builder.build()


class Message:
    def __init__(self, partition: int, offset: int, value: bytes = b"v") -> None:
        self._at, self._value = (partition, offset), value

    def partition(self) -> int:
        return self._at[0]

    def offset(self) -> int:
        return self._at[1]

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000 + self._at[1]

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return self._value

    def headers(self) -> list[tuple[str, bytes]] | None:
        return [("h", b"1")] if self._at[1] % 2 else None


class Kafka:
    """Two partitions of a topic; offsets in ``gaps`` have no record."""

    def __init__(self, bounds: Sequence[tuple[int, int]] = ((0, 4), (2, 5))) -> None:
        self.bounds, self.gaps, self.value = bounds, frozenset({3}), b"v"
        self.settings: Mapping[str, Any] = {}
        self.produced: list[tuple[Any, ...]] = []
        self.refused: KafkaError | None = None
        self.is_silent, self.is_away = False, False
        self._waiting: list[Any] = []

    def __call__(self, settings: Mapping[str, Any]) -> Any:
        self.settings = settings
        return self

    def topic(self, name: str) -> Topic:
        if self.is_away:
            raise UnknownTopicError("unknown-topic", f"there is no topic {name!r}")
        states = (PartitionState(n, 0, (0,), (0,)) for n in range(len(self.bounds)))
        return Topic(name, tuple(states))

    def begin_offsets(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        return {place: self.bounds[place[1]][0] for place in partitions}

    def end_offsets(
        self, partitions: Sequence[Partition], *, committed: bool = False
    ) -> Mapping[Partition, int]:
        assert committed
        return {place: self.bounds[place[1]][1] for place in partitions}

    def read(self, settings: Any, spans: Any, *, patience_s: float) -> Iterator[Any]:
        assert settings["isolation.level"] == "read_committed"
        for (_, partition), (start, end) in sorted(spans.items(), reverse=True):
            for offset in range(start, end):
                if offset not in self.gaps:
                    yield Message(partition, offset, self.value)

    def produce(
        self, topic: str, value: Any, key: Any, partition: int, report: Any, **given: Any
    ) -> None:
        if key == b"full":
            raise BufferError("Local: Queue full")
        self.produced.append((topic, value, key, partition, given))
        self._waiting.append((report, partition))

    def flush(self, timeout: float) -> int:
        waiting, self._waiting = self._waiting, []
        for place, (report, partition) in enumerate([] if self.is_silent else waiting):
            report(self.refused, Message(max(partition, 0), 70 + place))
        return len(self._waiting)


def opened(kafka: Kafka) -> DeadLetterTopic:
    return DeadLetterTopic(
        "dead", topology().graph, CONFIG, admin=kafka, read=kafka.read, producer=kafka
    )


def outgoing(key: bytes = b"k", partition: int | None = 1) -> Outgoing:
    return Outgoing(
        topic="orders", partition=partition, key=key, value=b"v", timestamp=0,
        headers=(("by", b"ann"),),
    )  # fmt: skip


def test_the_newest_letters_are_read_in_order() -> None:
    """So many of each partition; the answer says whether there are older ones."""
    found = opened(Kafka()).latest(2)
    assert [letter.place for letter in found.letters] == [(0, 2), (1, 4)]
    assert not found.is_whole
    found = opened(Kafka()).latest(9)
    assert [letter.place for letter in found.letters] == [(0, 0), (0, 1), (0, 2), (1, 2), (1, 4)]
    assert found.is_whole
    assert (found.letters[1].timestamp, found.letters[1].headers) == (1_001, (("h", b"1"),))


def test_large_letters_push_out_older_ones() -> None:
    """The server has to keep them all in memory."""
    kafka = Kafka(((0, 40),))
    kafka.value = b"x" * 1_000_000
    found = opened(kafka).latest(1_000)
    assert len(found.letters) == 33
    assert not found.is_whole
    assert found.letters[-1].offset == 39


def test_one_letter_is_found_by_its_place() -> None:
    """A place outside of the topic is not waited for; a gap has no letter."""
    topic = opened(Kafka())
    letter = topic.one(1, 4)
    assert letter is not None
    assert letter.place == (1, 4)
    assert [topic.one(*place) for place in ((1, 1), (1, 5), (2, 0), (1, 3))] == [None] * 4


def test_serdes_are_those_of_the_sources() -> None:
    """With the defaults of the configuration; a pattern names topics, too."""
    topic = opened(Kafka())
    orders, europe = topic.serdes("orders"), topic.serdes("eu-orders")
    assert orders is not None
    assert europe is not None
    assert isinstance(orders.value, LongSerde)
    assert isinstance(europe.value, JsonSerde)
    assert not orders.is_internal
    internal = [name for name in topic._serdes if name.endswith("-repartition")]
    assert len(internal) == 1
    assert internal[0].startswith("app-")
    assert topic._serdes[internal[0]].is_internal
    assert topic.serdes("elsewhere") is topic.serdes("") is None


def test_a_node_has_its_line_of_the_program() -> None:
    """A page links to it."""
    site = opened(Kafka()).site("KSTREAM-SOURCE-0000000000")
    assert site is not None
    assert site.startswith("test_dead_letter_topic.py:")
    assert opened(Kafka()).site("nothing") is None


def test_records_are_sent_in_order_with_their_time_and_headers() -> None:
    """Without a transaction, and none of them twice."""
    kafka = Kafka()
    deliveries = opened(kafka).send([outgoing(), outgoing(partition=None)], 1.0)
    assert [(each.partition, each.offset, each.error) for each in deliveries] == [
        (1, 70, None), (0, 71, None),
    ]  # fmt: skip
    first, second = kafka.produced
    assert first == ("orders", b"v", b"k", 1, {"timestamp": 1, "headers": [("by", b"ann")]})
    assert second[3] == -1
    assert kafka.settings["enable.idempotence"] is True
    assert "transaction.timeout.ms" not in kafka.settings
    assert kafka.settings["partitioner"] == "murmur2_random"


def test_a_record_that_is_refused_says_why() -> None:
    """Whether by the client, by the broker, or because nobody has confirmed it in time."""
    kafka = Kafka()
    kafka.refused = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    topic = opened(kafka)
    full, large = topic.send([outgoing(b"full"), outgoing()], 1.0)
    assert full.error == "Local: Queue full"
    assert "too large" in str(large.error)
    kafka.is_silent = True
    assert "may have arrived" in str(topic.send([outgoing()], 0.1)[0].error)


def test_brokers_that_do_not_answer_can_be_asked_later() -> None:
    """Not an error of the server's."""
    kafka = Kafka()
    topic = opened(kafka)

    def broken(*args: Any, **kwargs: Any) -> Iterator[Any]:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        yield

    topic._spans._read = broken
    with pytest.raises(NotAvailableError, match="cannot be read"):
        topic.latest(5)
    kafka.is_away = True
    with pytest.raises(NotAvailableError, match="no topic 'dead'"):
        topic.one(0, 0)


def test_there_is_no_topic_unless_one_is_named() -> None:
    """The setting has no default."""
    graph = topology().graph
    assert dead_letter_topic(graph, StreamsConfig({"application.id": "app"})) is None
    found = dead_letter_topic(graph, CONFIG)
    assert found is not None
    assert found.topic == "dead"
