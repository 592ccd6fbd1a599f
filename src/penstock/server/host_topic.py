"""The topic in which the nodes of a service tell each other that they are alive."""

from __future__ import annotations

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, consumer_settings, producer_settings
from penstock.kafka.clients import new_producer
from penstock.kafka.topic_reader import TopicReader

_POLL_S = 0.5
_TOPIC_CONFIG = {"cleanup.policy": "delete", "retention.ms": "3600000"}


def hosts_topic(service_id: str) -> str:
    """Return the name of the topic of a service's hosts.

    >>> hosts_topic("default_")
    '_penstock-sql-default_-hosts'
    """
    return f"_penstock-sql-{service_id}-hosts"


class KafkaHostTopic:
    """Send and read the messages of hosts, beginning with those after the start."""

    def __init__(self, config: StreamsConfig, service_id: str) -> None:
        self._topic = hosts_topic(service_id)
        admin = Admin(admin_settings(config))
        admin.create_topic(self._topic, partitions=1, config=_TOPIC_CONFIG)
        self._producer = new_producer(producer_settings(config) | {"linger.ms": 0})
        end = admin.end_offsets([(self._topic, 0)])
        self._reader = TopicReader(consumer_settings(config) | {"group.id": self._topic}, end)

    def send(self, value: bytes) -> None:
        self._producer.produce(self._topic, value, partition=0)
        self._producer.poll(0)

    def read(self) -> list[bytes]:
        """Wait a moment for messages, and return them."""
        values = (message.value() for message in self._reader.read(_POLL_S))
        return [bytes(value) for value in values if value is not None]

    def close(self) -> None:
        self._producer.flush(2.0)
        self._reader.close()
