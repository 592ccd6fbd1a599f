"""The registry's log in a topic of a real broker."""

import pickle

import pytest

from penstock.kafka.admin import Admin
from penstock.sql.formats.kafka_log import KafkaLog
from penstock.sql.formats.registries import registry_for
from penstock.sql.formats.registry import LogRegistry, Schema

pytestmark = pytest.mark.kafka

INT = Schema("AVRO", '"int"')
TEXT = Schema("AVRO", '"string"')


def test_registry_in_a_topic_is_there_after_a_restart(kafka_broker: str) -> None:
    settings = {"bootstrap.servers": kafka_broker}
    first = LogRegistry(KafkaLog(settings, "registry-restart"))
    assert first.register("a", INT) == 1
    assert first.register("a", TEXT) == 2
    first.close()
    second = LogRegistry(KafkaLog(settings, "registry-restart"))
    assert second.by_id(1) == INT
    latest = second.latest("a")
    assert latest is not None
    assert latest.id == 2
    second.close()


def test_two_registries_share_a_topic(kafka_broker: str) -> None:
    settings = {"bootstrap.servers": kafka_broker}
    one, other = (LogRegistry(KafkaLog(settings, "registry-shared")) for _ in range(2))
    assert one.register("a", INT) == 1
    assert other.register("a", INT) == 1
    assert other.register("b", TEXT) == 2
    assert one.subjects() == ["a", "b"]
    assert one.delete("a") == [1]
    assert other.subjects() == ["b"]
    one.close()
    other.close()


def test_copy_in_a_worker_reads_the_topic_for_itself(kafka_broker: str) -> None:
    registry = registry_for({"bootstrap.servers": kafka_broker}, "registry-copy")
    assert registry.register("a", INT) == 1
    assert pickle.loads(pickle.dumps(registry)).by_id(1) == INT


def test_topic_is_compacted_and_has_one_partition(kafka_broker: str) -> None:
    settings = {"bootstrap.servers": kafka_broker}
    registry = LogRegistry(KafkaLog(settings, "registry-topic"))
    assert registry.subjects() == []
    registry.close()
    admin = Admin(settings)
    assert len(admin.topic("registry-topic").partitions) == 1
    assert admin.topic_config("registry-topic")["cleanup.policy"].value == "compact"
