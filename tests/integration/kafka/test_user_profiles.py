"""EX-10: what is left of a compacted topic when the log cleaner has run."""

import time

import pytest
from confluent_kafka import Producer

from examples.user_profiles.app import COMPACTED, build
from penstock.cli.demo.program_demo import write_samples
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.topic_reader import read_to_end
from tests.examples.play import samples_of

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TOPIC = "user-profiles"


def content(servers: str, admin: Admin) -> list[tuple[bytes | None, bytes | None]]:
    settings = {"bootstrap.servers": servers}
    span = admin.begin_offsets([(TOPIC, 0)])[TOPIC, 0], admin.end_offsets([(TOPIC, 0)])[TOPIC, 0]
    found = read_to_end(settings, {(TOPIC, 0): span})
    return [(message.key(), message.value()) for message in found]


def test_cleaner_leaves_the_last_record_of_each_key(kafka_broker: str, kafka_admin: Admin) -> None:
    """The tombstone of user1 stays for a day, so that every reader learns of the deletion."""
    kafka_admin.create_topics([TopicSpec(TOPIC, 1, config=COMPACTED)])
    try:
        write_samples(kafka_broker, samples_of("user_profiles", build()), ())
        deadline = time.monotonic() + 180
        while (found := content(kafka_broker, kafka_admin)) and _versions(found, b"user1") > 1:
            assert time.monotonic() < deadline, found
            # The newest segment is never cleaned. A new record closes it.
            producer = Producer({"bootstrap.servers": kafka_broker})
            producer.produce(TOPIC, b"tick", b"clock")
            producer.flush()
            time.sleep(1)
        assert [each for each in found if each[0] != b"clock"] == [
            (b"user2", b'{"name": "Bob", "age": 25}'),
            (b"user1", None),
        ]
    finally:
        kafka_admin.delete_topics([TOPIC], missing_ok=True)


def _versions(found: list[tuple[bytes | None, bytes | None]], key: bytes) -> int:
    return sum(each[0] == key for each in found)
