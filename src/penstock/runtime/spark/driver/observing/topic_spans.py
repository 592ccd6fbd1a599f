"""Reads small spans of topics for the server of an application, over connections that it keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from confluent_kafka import KafkaException, Message

from penstock.config import StreamsConfig
from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition, Topic
from penstock.kafka.client_config import admin_settings, consumer_settings
from penstock.kafka.topic_reader import Span, read_to_end
from penstock.model.record import Headers
from penstock.serving.application import NotAvailableError

#: How long Kafka may be silent before the caller has to ask again.
_PATIENCE_S = 8.0


class Offsets(Protocol):
    """The questions about topics; ``Admin`` answers them."""

    def topic(self, name: str) -> Topic: ...

    def begin_offsets(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]: ...

    def end_offsets(
        self, partitions: Sequence[Partition], *, committed: bool = False
    ) -> Mapping[Partition, int]: ...


Read = Callable[..., Iterator[Message]]


class TopicSpans:
    """Reads committed records between offsets. Several threads may use it.

    Args:
        config: the configuration; that of a run, if a private broker was started.
        code: the code of the error while Kafka does not answer.
        admin: opens the connection for questions about topics.
        read: reads spans of partitions.
    """

    def __init__(
        self,
        config: StreamsConfig,
        code: str,
        *,
        admin: Callable[[Mapping[str, Any]], Offsets] = Admin,
        read: Read = read_to_end,
    ) -> None:
        self._config, self._code = config, code
        self._make_admin, self._read = admin, read
        self._admin: Offsets | None = None
        self._lock = threading.Lock()

    def bounds(self, topic: str) -> dict[Partition, Span]:
        """Return the first offset and the end of each partition.

        Raises:
            NotAvailableError: Kafka does not answer, or there is no such topic.
        """
        try:
            with self._lock:
                if self._admin is None:
                    self._admin = self._make_admin(admin_settings(self._config))
                admin = self._admin
            places = [(topic, state.id) for state in admin.topic(topic).partitions]
            begins = admin.begin_offsets(places)
            ends = admin.end_offsets(places, committed=True)
        except (KafkaException, PenstockError) as error:
            raise self._not_available(topic, error) from error
        return {place: (begins[place], ends[place]) for place in places}

    def read(self, topic: str, spans: Mapping[Partition, Span]) -> Iterator[Message]:
        """Yield the records of spans of a topic.

        Raises:
            NotAvailableError: Kafka does not answer.
        """
        settings = consumer_settings(self._config, "restore")
        # Retention may delete the first records between the question for offsets and the read.
        settings |= {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
        try:
            yield from self._read(settings, spans, patience_s=_PATIENCE_S)
        except (KafkaException, PenstockError) as error:
            raise self._not_available(topic, error) from error

    def _not_available(self, topic: str, error: Exception) -> NotAvailableError:
        return NotAvailableError(
            self._code,
            f"topic {topic!r} cannot be read: {error}",
            fix="ask again when the brokers answer",
        )


def headers_of(message: Message) -> Headers:
    given: Any = message.headers() or ()
    return tuple((name, value) for name, value in given)
