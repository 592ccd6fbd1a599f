"""The command topic: all nodes read it in the same order, and one node at a time writes to it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, consumer_settings, producer_settings
from penstock.kafka.clients import new_consumer, new_producer
from penstock.kafka.refusals import hidden_failure

_log = logging.getLogger("penstock.server")
_TIMEOUT_S = 30.0
#: How long a poll waits for a record. Closing the reader may have to wait as long.
_POLL_S = 0.1
#: Stands for the service id in the name of the command topic.
_SERVICE = "${ksql.service.id}"
_USUAL = f"_penstock-sql-{_SERVICE}-commands"
_TOPIC_CONFIG = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class OvertakenError(StreamsError):
    """Another node has become the writer, or the write is in doubt: read to the end and try again.

    Code ``overtaken``.
    """


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the command topic."""

    offset: int
    key: bytes | None
    value: bytes | None


class CommandLog(Protocol):
    """A log that all nodes read in the same order. One thread reads, and one at a time writes."""

    def begin(self) -> int:
        """Return the first offset there is; more than 0 means that the beginning is lost."""

    def read(self) -> list[Entry]:
        """Return the next records; an empty list if none arrives within a moment."""

    @property
    def position(self) -> int:
        """The offset up to which ``read`` has seen everything that is committed."""

    def end(self) -> int:
        """Return the offset after the last record that is committed."""

    def become_writer(self) -> bool:
        """Make this node the writer, and return whether it was not the writer before."""

    def write(self, key: bytes, value: bytes) -> int:
        """Write one record and return its offset.

        Raises:
            OvertakenError: the write failed, or it is unknown whether it succeeded.
        """

    def close(self) -> None: ...


def commands_topic(service_id: str, pattern: str | None = None) -> str:
    """Return the name of a service's command topic.

    >>> commands_topic("default_")
    '_penstock-sql-default_-commands'
    >>> commands_topic("shop_", "_confluent-ksql-${ksql.service.id}_command_topic")
    '_confluent-ksql-shop__command_topic'

    Args:
        service_id: The service.
        pattern: The setting ``penstock.server.command.topic``, if it is given.
    """
    return (pattern or _USUAL).replace(_SERVICE, service_id)


class KafkaCommandLog:
    """The log in a Kafka topic with one partition, without compaction and with endless retention.

    All nodes write with the same transactional id. Kafka accepts writes only from the node that
    registered the id last. So as long as a node is the writer, no other node has written.

    Args:
        config: How to reach Kafka.
        service_id: The service.
        pattern: The name of the topic, if a setting chooses it; see ``commands_topic``.
    """

    def __init__(self, config: StreamsConfig, service_id: str, pattern: str | None = None) -> None:
        self.topic = commands_topic(service_id, pattern)
        self._service_id = service_id
        self._config = StreamsConfig({**_settings(config), APPLICATION_ID.name: self.topic})
        self._admin = Admin(admin_settings(self._config), timeout_s=_TIMEOUT_S)
        self._admin.create_topic(self.topic, partitions=1, config=_TOPIC_CONFIG)
        self._place = TopicPartition(self.topic, 0, 0)
        self._consumer = new_consumer(
            consumer_settings(self._config)
            | {
                "group.id": self.topic,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 50,
            }
        )
        self._consumer.assign([self._place])
        self._position = 0
        self._producer: Producer | None = None

    def begin(self) -> int:
        first = self._admin.begin_offsets([(self.topic, 0)])[self.topic, 0]
        if first > 0:
            self._consumer.assign([TopicPartition(self.topic, 0, first)])
        return first

    def end(self) -> int:
        return self._admin.end_offsets([(self.topic, 0)], committed=True)[self.topic, 0]

    @property
    def position(self) -> int:
        return self._position

    def read(self) -> list[Entry]:
        message = self._consumer.poll(_POLL_S)
        if message is None:
            return []
        error, offset = message.error(), int(message.offset() or 0)
        if error is None:
            self._position = offset + 1
            return [Entry(offset, _bytes(message.key()), _bytes(message.value()))]
        if error.code() == KafkaError._PARTITION_EOF:
            # The marker of the transaction follows the last record.
            self._position = max(self._position, offset)
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise StreamsError(
                "commands-lost",
                f"topic {self.topic!r} no longer has offset {self._position}: records were deleted",
                fix="run: penstock server restore-commands",
            )
        else:
            _log.warning("the command topic cannot be read now: %s", error.str())
        return []

    def become_writer(self) -> bool:
        if self._producer is not None:
            return False
        settings = producer_settings(self._config) | {
            "transactional.id": f"{self.topic}-writer",
            "enable.idempotence": True,
            "linger.ms": 0,
            "retry.backoff.ms": 20,
        }
        producer = new_producer(settings)
        try:
            producer.init_transactions(_TIMEOUT_S)
        except KafkaException as failure:
            raise _overtaken(failure) from None
        self._producer = producer
        return True

    def write(self, key: bytes, value: bytes) -> int:
        producer = self._producer
        if producer is None:
            raise OvertakenError("overtaken", "this node is not the writer of the command topic")
        delivered: list[Any] = []
        try:
            producer.begin_transaction()
            producer.produce(
                self.topic, value, key, partition=0, on_delivery=lambda *it: delivered.append(it)
            )
            producer.flush(_TIMEOUT_S)
            self._commit(producer)
        except (KafkaException, SystemError) as failure:
            # A producer that failed is not used again. The next one aborts its open transaction.
            self._producer = None
            reported = hidden_failure(failure) or failure
            if not isinstance(reported, KafkaException):
                raise
            raise _overtaken(reported) from None
        error, message = delivered[0]
        if error is not None:
            self._producer = None
            raise OvertakenError("overtaken", f"the command was not written: {error.str()}")
        return int(message.offset())

    def _commit(self, producer: Producer) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                producer.commit_transaction(_TIMEOUT_S)
                return
            except KafkaException as failure:
                if not failure.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def close(self) -> None:
        self._consumer.close()
        self._producer = None


def _settings(config: StreamsConfig) -> dict[str, Any]:
    return {name: config[name] for name in config}


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _overtaken(failure: KafkaException) -> OvertakenError:
    return OvertakenError(
        "overtaken", f"the command topic was not written: {failure.args[0].str()}"
    )
