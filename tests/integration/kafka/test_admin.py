"""Topics, groups and offsets of a real cluster, and what is said when a call fails.

Exercises ``admin_calls``.
"""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.errors import (
    KafkaRequestError,
    TopicExistsError,
    UnknownGroupError,
    UnknownTopicError,
)
from tests.integration.kafka.records import write

pytestmark = pytest.mark.kafka

NewTopic = Callable[..., str]


def test_topic_that_exists_is_checked_not_made(kafka_admin: Admin, new_topic: NewTopic) -> None:
    """The same topic again is fine; another number of partitions is not."""
    topic = new_topic(partitions=3)
    assert kafka_admin.create_topics([TopicSpec(topic, 3)]) == set()
    with pytest.raises(TopicExistsError, match="exists with 3 partitions, 4 were asked for"):
        kafka_admin.create_topic(topic, partitions=4)


def test_topic_is_seen_and_led_when_create_returns(kafka_admin: Admin, new_topic: NewTopic) -> None:
    """Who comes next need not wait or retry."""
    found = kafka_admin.topic(new_topic(partitions=4))
    assert [(state.id, state.leader) for state in found.partitions] == [(n, 1) for n in range(4)]
    assert found.replication == 1


def test_deleted_topic_is_gone_when_delete_returns(kafka_admin: Admin, new_topic: NewTopic) -> None:
    """A topic of the same name can be made at once."""
    topic = new_topic()
    kafka_admin.delete_topics([topic])
    assert topic not in kafka_admin.topics()
    with pytest.raises(UnknownTopicError):
        kafka_admin.delete_topics([topic])
    kafka_admin.delete_topics([topic], missing_ok=True)


def test_ids_of_topics_leave_out_a_topic_that_is_gone(
    kafka_admin: Admin, new_topic: NewTopic
) -> None:
    """A topic of a pattern may be deleted while an application asks for the ids of all of them."""
    kept, gone = new_topic(), new_topic()
    before = kafka_admin.topic_ids([kept, gone])
    kafka_admin.delete_topics([gone])
    assert kafka_admin.topic_ids([kept, gone]) == {kept: before[kept]}


def test_settings_of_a_topic_are_read_and_changed(kafka_admin: Admin, new_topic: NewTopic) -> None:
    """Own settings are told from the broker's defaults."""
    topic = new_topic(cleanup_policy="compact")
    kafka_admin.alter_topic_config(topic, {"segment.ms": "60000", "cleanup.policy": None})
    own = {
        name: item.value for name, item in kafka_admin.topic_config(topic).items() if item.is_own
    }
    assert own == {"segment.ms": "60000"}
    with pytest.raises(KafkaRequestError, match="nonsense"):
        kafka_admin.alter_topic_config(topic, {"nonsense": "1"})


def test_partitions_are_added(kafka_admin: Admin, new_topic: NewTopic) -> None:
    """The new ones can be used when the call returns."""
    topic = new_topic(partitions=1)
    kafka_admin.add_partitions(topic, 3)
    assert len(kafka_admin.topic(topic).partitions) == 3


def test_offsets_follow_records_and_deletes(
    kafka_admin: Admin, kafka_broker: str, new_topic: NewTopic
) -> None:
    """First, end, by time, and after records were deleted."""
    topic = new_topic()
    at = (topic, 0)
    write(kafka_broker, topic, [("a", "1"), ("b", "2")], timestamp=1_000)
    write(kafka_broker, topic, [("c", "3")], timestamp=2_000)
    assert kafka_admin.begin_offsets([at]) == {at: 0}
    assert kafka_admin.end_offsets([at]) == kafka_admin.end_offsets([at], committed=True) == {at: 3}
    assert kafka_admin.offsets_at([at], 1_500) == {at: 2}
    assert kafka_admin.offsets_at([at], 2_500) == {at: -1}
    assert kafka_admin.delete_records({at: 2}) == {at: 2}
    assert kafka_admin.begin_offsets([at]) == {at: 2}
    with pytest.raises(UnknownTopicError, match="has no partition 7"):
        kafka_admin.end_offsets([(topic, 7)])


def test_a_new_broker_can_be_asked_for_the_offsets_of_a_group(needs_java: None) -> None:
    """Its first coordinator is only just coming up; librdkafka's admin client crashes on that."""
    with EmbeddedBroker() as fresh:
        admin = Admin({"bootstrap.servers": fresh.bootstrap_servers})
        admin.create_topic("orders")
        assert admin.group_offsets("nobody") == {}


def test_offsets_of_an_open_transaction_are_not_waited_for(
    kafka_admin: Admin, kafka_broker: str, new_topic: NewTopic
) -> None:
    """Kafka may take a transaction for open that has ended; nobody could start any more."""
    topic = new_topic(partitions=2)
    group, servers = f"group-of-{topic}", {"bootstrap.servers": kafka_broker}
    kafka_admin.alter_group_offsets(group, {(topic, 0): 5})
    producer = Producer({**servers, "transactional.id": group})
    consumer = Consumer({**servers, "group.id": group})
    producer.init_transactions()
    producer.begin_transaction()
    metadata = consumer.consumer_group_metadata()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 9)], metadata)
    try:
        assert kafka_admin.group_offsets(group) == {(topic, 0): 5}
        producer.commit_transaction()
        assert kafka_admin.group_offsets(group) == {(topic, 0): 9}
    finally:
        consumer.close()


def test_offsets_of_a_group_are_moved_and_deleted(kafka_admin: Admin, new_topic: NewTopic) -> None:
    """What a reset of an application needs."""
    topic = new_topic(partitions=2)
    group = f"group-of-{topic}"
    assert kafka_admin.group_offsets(group) == {}
    kafka_admin.alter_group_offsets(group, {(topic, 0): 5})
    assert kafka_admin.group_offsets(group) == {(topic, 0): 5}
    assert kafka_admin.group_offsets(group, [(topic, 1)]) == {}
    assert kafka_admin.group(group).state == "empty"
    assert group in [item.id for item in kafka_admin.groups()]
    kafka_admin.delete_groups([group])
    assert kafka_admin.group(group).state == "dead"
    kafka_admin.delete_groups([group], missing_ok=True)
    with pytest.raises(UnknownGroupError):
        kafka_admin.delete_groups([group])


def test_group_with_members_is_left_alone(
    kafka_admin: Admin, kafka_broker: str, new_topic: NewTopic
) -> None:
    """Moving the offsets of a running application would lose or repeat records."""
    topic = new_topic()
    group = f"busy-{topic}"
    member = Consumer({"bootstrap.servers": kafka_broker, "group.id": group, "client.id": "me"})
    member.subscribe([topic])
    while not member.assignment():
        member.poll(0.1)
    assert kafka_admin.group(group).members == ("me",)
    for request in (
        lambda: kafka_admin.alter_group_offsets(group, {(topic, 0): 0}),
        lambda: kafka_admin.delete_groups([group]),
    ):
        with pytest.raises(KafkaRequestError) as raised:
            request()
        assert raised.value.code == "group-in-use"
    member.close()


def test_cluster_names_its_broker(kafka_admin: Admin, kafka_broker: str) -> None:
    """The broker advertises the address that was used to find it."""
    (broker,) = kafka_admin.cluster().brokers
    assert f"{broker.host}:{broker.port}" == kafka_broker


def test_offsets_of_a_topic_that_was_there_a_moment_ago(
    kafka_admin: Admin, new_topic: NewTopic
) -> None:
    """Partitions that were seen are not looked for again, but a deleted topic is still named."""
    topic = new_topic()
    assert kafka_admin.end_offsets([(topic, 0)]) == {(topic, 0): 0}
    kafka_admin.delete_topics([topic])
    with pytest.raises(UnknownTopicError, match=topic):
        kafka_admin.end_offsets([(topic, 0)])
    kafka_admin.create_topic(topic, partitions=2)
    assert kafka_admin.end_offsets([(topic, 1)]) == {(topic, 1): 0}
