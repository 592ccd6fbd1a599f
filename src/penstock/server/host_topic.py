"""The topic in which the nodes of a service tell each other that they are alive."""

from __future__ import annotations

import logging

from confluent_kafka import OFFSET_END, KafkaError, TopicPartition

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, consumer_settings, producer_settings
from penstock.kafka.clients import new_consumer, new_producer

_log = logging.getLogger("penstock.server")
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
        own = {"group.id": self._topic, "enable.partition.eof": False}
        self._consumer = new_consumer(consumer_settings(config) | own)
        self._consumer.assign([TopicPartition(self._topic, 0, OFFSET_END)])

    def send(self, value: bytes) -> None:
        self._producer.produce(self._topic, value, partition=0)
        self._producer.poll(0)

    def read(self) -> list[bytes]:
        message = self._consumer.poll(_POLL_S)
        if message is None:
            return []
        error = message.error()
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                _log.debug("the topic of hosts cannot be read now: %s", error.str())
            return []
        value = message.value()
        return [] if value is None else [bytes(value)]

    def close(self) -> None:
        self._producer.flush(2.0)
        self._consumer.close()
