"""The registry's log in a topic of a real broker."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.kafka.admin import Admin
from penstock.registry.kafka_log import KafkaLog
from penstock.registry.registries import registry_for
from penstock.registry.registry import LogRegistry, Schema

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


def test_registries_that_write_at_once_never_give_an_id_twice(kafka_broker: str) -> None:
    """Each has its own connection, as processes would."""
    settings = {"bootstrap.servers": kafka_broker}
    schemas = [Schema("AVRO", f'{{"type":"fixed","name":"f{n}","size":1}}') for n in range(6)]

    def register(part: int) -> list[int]:
        registry = LogRegistry(KafkaLog(settings, "registry-race"))
        ids = [registry.register("same", schema) for schema in schemas[part::2]]
        registry.close()
        return ids

    with ThreadPoolExecutor(2) as pool:
        given = [number for ids in pool.map(register, range(2)) for number in ids]
    assert sorted(given) == list(range(1, 7))
    registry = LogRegistry(KafkaLog(settings, "registry-race"))
    versions = registry.state().versions("same")
    assert [v.version for v in versions] == list(range(1, 7))
    assert {v.schema for v in versions} == set(schemas)
    registry.close()
