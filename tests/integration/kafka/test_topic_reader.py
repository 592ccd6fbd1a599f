"""The one reader of topics: to an end, or on and on, with one rule for errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Producer

from penstock.errors import StreamsError
from penstock.kafka import topic_reader
from penstock.kafka.admin import Admin
from penstock.kafka.errors import KafkaRequestError
from penstock.kafka.topic_reader import TopicReader, follow, has_reached, read_to_end

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(kafka_broker: str, new_topic: Callable[..., str]) -> str:
    """Two records, of which the second is in a transaction: its marker is the end."""
    topic = new_topic("read")
    write(kafka_broker, topic, b"1")
    producer = Producer({"bootstrap.servers": kafka_broker, "transactional.id": f"{topic}-writer"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"2", partition=0)
    producer.commit_transaction()
    return topic


def write(servers: str, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, value, partition=0)
    producer.flush()


def test_reading_ends_at_the_marker_of_a_transaction(kafka_broker: str, topic: str) -> None:
    """It has an offset and is no record, so counting records would wait for ever."""
    settings = {"bootstrap.servers": kafka_broker}
    end = Admin(settings).end_offsets([(topic, 0)])[topic, 0]
    assert end == 3
    found = read_to_end(settings, {(topic, 0): (0, end)})
    assert [message.value() for message in found] == [b"1", b"2"]


def test_a_span_ends_before_records_that_came_later(kafka_broker: str, topic: str) -> None:
    settings = {"bootstrap.servers": kafka_broker}
    write(kafka_broker, topic, b"3")
    assert [m.value() for m in read_to_end(settings, {(topic, 0): (0, 1)})] == [b"1"]
    assert [m.value() for m in read_to_end(settings, {(topic, 0): (1, 3)})] == [b"2"]
    assert list(read_to_end(settings, {(topic, 0): (2, 2)})) == []


def test_following_goes_on_until_it_is_enough(kafka_broker: str, topic: str) -> None:
    seen = []
    for message in follow(
        {"bootstrap.servers": kafka_broker}, {(topic, 0): 0}, lambda _: b"new" in seen
    ):
        seen.append(message.value())
        if message.value() == b"2":
            write(kafka_broker, topic, b"new")
    assert seen == [b"1", b"2", b"new"]


def test_a_reader_that_gets_nothing_gives_up_and_says_why(topic: str) -> None:
    """No broker answers there."""
    settings = {"bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(StreamsError, match=r"partition 0 of topic .* for 1 s") as raised:
        list(read_to_end(settings, {(topic, 0): (0, 3)}, patience_s=1.0))
    assert raised.value.code == "read-stopped"


def test_an_offset_that_is_gone_is_an_error_only_if_that_is_wanted(
    kafka_broker: str, topic: str
) -> None:
    """Otherwise reading begins where the log does."""
    settings = {"bootstrap.servers": kafka_broker}
    Admin(settings).delete_records({(topic, 0): 1})
    assert [m.value() for m in read_to_end(settings, {(topic, 0): (0, 3)})] == [b"2"]
    strict = settings | {"auto.offset.reset": "error"}
    with pytest.raises(KafkaRequestError):
        list(read_to_end(strict, {(topic, 0): (0, 3)}))


def test_ends_and_positions_are_those_of_the_partitions_that_are_read(
    kafka_broker: str, topic: str
) -> None:
    with TopicReader({"bootstrap.servers": kafka_broker}, {(topic, 0): 0}, is_eager=True) as reader:
        while not has_reached(reader.positions, {(topic, 0): 3}):
            reader.read(0.2)
        assert reader.ends() == {(topic, 0): 3}
        reader.forget([(topic, 0)])
        assert reader.positions == {}


class Refused:
    """A message that tells of an error."""

    def __init__(self, code: int) -> None:
        self._error = KafkaError(code)

    def error(self) -> KafkaError:
        return self._error

    def topic(self) -> str:
        return "orders"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "topic-gone"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "not-allowed"),
        (KafkaError._TRANSPORT, None),
        (KafkaError.NOT_LEADER_FOR_PARTITION, None),
    ],
)
def test_what_passes_is_waited_for_and_the_rest_is_raised(error: int, code: str | None) -> None:
    reader = topic_reader.TopicReader({"bootstrap.servers": "127.0.0.1:1"}, {("orders", 0): 0})
    message = Refused(error)
    try:
        if code is None:
            reader._note(message, message.error())  # type: ignore[arg-type]
            assert reader.trouble is not None
        else:
            with pytest.raises((StreamsError, KafkaRequestError), match=code):
                reader._note(message, message.error())  # type: ignore[arg-type]
    finally:
        reader.close()
