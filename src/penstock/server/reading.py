"""Reading topics for queries: partitions from given offsets, without a consumer group."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.config import StreamsConfig
from penstock.errors import PenstockError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, consumer_settings
from penstock.kafka.clients import new_consumer
from penstock.kafka.error_table import Verdict, verdict
from penstock.kernel.record_queue import RawRecord

_log = logging.getLogger("penstock.server")

#: A topic and the number of one of its partitions.
Place = tuple[str, int]
Positions = dict[Place, int]

#: How many records one read returns at most.
MOST_RECORDS = 2_000
#: How long the broker may wait before it sends an empty answer. The default is half a second.
_EAGER_MS = 10
#: How often readers that follow a topic look for new partitions.
_WATCH_S = 30.0
_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC)


class Reader(Protocol):
    """Read committed records of some partitions, in the order of each partition."""

    #: The offset of the next record, by partition. Only records before it have been seen.
    positions: Positions

    def read(self, timeout_s: float) -> list[RawRecord]:
        """Wait for a record, and return it with those that are there already."""

    def ends(self) -> Positions:
        """Return the last known ends of the partitions; asking costs nothing."""

    def forget(self, places: Iterable[Place]) -> None:
        """Stop reading some partitions."""

    def close(self) -> None: ...


class Topics(Protocol):
    """The topics of a cluster, as queries see them. Threads may share it."""

    def places(self, topics: Iterable[str]) -> list[Place]:
        """Return all partitions of topics.

        Raises:
            PenstockError: a topic does not exist.
        """

    def begins(self, places: Iterable[Place]) -> Positions:
        """Return the first offsets."""

    def ends(self, places: Iterable[Place]) -> Positions:
        """Return the offsets after the last records that are committed."""

    def reader(self, starts: Mapping[Place, int], *, is_eager: bool = False) -> Reader:
        """Return a reader of partitions from some offsets on.

        Args:
            starts: the offset of the first record that is wanted, by partition.
            is_eager: whether the caller waits for the end. New records come at once either way.
        """


class KafkaTopics:
    """The topics of the cluster that a configuration names."""

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._admin: Admin | None = None
        self._lock = threading.Lock()

    def places(self, topics: Iterable[str]) -> list[Place]:
        admin = self._connected()
        return [(topic, part.id) for topic in topics for part in admin.topic(topic).partitions]

    def begins(self, places: Iterable[Place]) -> Positions:
        return self._connected().begin_offsets(places)

    def ends(self, places: Iterable[Place]) -> Positions:
        return self._connected().end_offsets(places, committed=True)

    def reader(self, starts: Mapping[Place, int], *, is_eager: bool = False) -> Reader:
        return TopicReader(self._config, starts, is_eager=is_eager)

    def _connected(self) -> Admin:
        with self._lock:
            if self._admin is None:
                self._admin = Admin(admin_settings(self._config))
            return self._admin


class TopicReader:
    """Read committed records of some partitions, in the order of each partition.

    It assigns its partitions itself, so it joins no consumer group. One thread may use it.

    Args:
        config: How to reach Kafka.
        starts: The offset of the first record that is wanted, by partition. If the log begins
            later, the reader begins there.
        is_eager: Whether the reader notices the end of a partition soon. The end shows only in an
            empty answer, which the broker delays; a caller that reads up to the end waits for it.
            A reader that follows a topic for hours should poll less often instead.
    """

    def __init__(
        self, config: StreamsConfig, starts: Mapping[Place, int], *, is_eager: bool = False
    ) -> None:
        self.positions: Positions = dict(starts)
        waits = {"fetch.wait.max.ms": _EAGER_MS} if is_eager else {}
        self._consumer = new_consumer(
            consumer_settings(config, "restore")
            | waits
            | {
                "group.id": "penstock-queries",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                # Without it, a fetch that failed once would be tried again after half a second.
                "fetch.error.backoff.ms": 50,
            }
        )
        self._assign()

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(*p, at) for p, at in self.positions.items()])

    def read(self, timeout_s: float) -> list[RawRecord]:
        """Wait for a record, and return it with those that are there already.

        Raises:
            StreamsError: ``topic-gone``, if a topic was deleted, or ``read-failed``.
        """
        first = self._consumer.poll(timeout_s)
        if first is None:
            return []
        messages = [first, *self._consumer.consume(MOST_RECORDS - 1, 0)]
        records: list[RawRecord] = []
        positions = self.positions
        for message in messages:
            error = message.error()
            if error is None:
                record = _record(message)
                records.append(record)
                positions[record.topic, record.partition] = record.offset + 1
            else:
                self._note(message, error)
        return records

    def _note(self, message: Any, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # Transaction markers have offsets, too, so the end may be after the last record.
            place = (message.topic(), message.partition())
            self.positions[place] = max(self.positions.get(place, 0), message.offset())
        elif error.code() in _GONE:
            raise StreamsError(
                "topic-gone", f"topic {message.topic()!r} cannot be read: {error.str()}"
            )
        elif error.fatal() or verdict(error) is Verdict.FORBIDDEN:
            raise StreamsError("read-failed", f"a topic cannot be read: {error.str()}")
        else:
            # For example, a broker restarts. The client connects again by itself.
            _log.debug("a topic cannot be read now: %s", error.str())

    def ends(self) -> Positions:
        """Return the last known ends of the partitions; a partition that is not known is left out.

        They come with the records, so asking costs nothing.
        """
        found: Positions = {}
        for place in self.positions:
            try:
                bounds = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
            except KafkaException:
                continue
            if bounds[1] >= 0:
                found[place] = bounds[1]
        return found

    def forget(self, places: Iterable[Place]) -> None:
        """Read some partitions no longer."""
        for place in places:
            self.positions.pop(place, None)
        self._assign()

    def close(self) -> None:
        self._consumer.close()


class PartitionWatch:
    """Check from time to time that a topic has no more partitions than are being read.

    Otherwise the rows of a new partition would be missing in the answers without any error.
    """

    def __init__(self, topics: Topics, topic: str, partitions: int) -> None:
        self._topics, self._topic, self._partitions = topics, topic, partitions
        self._looked = time.monotonic()

    def check(self) -> None:
        """Count the partitions, unless that was done recently.

        Raises:
            StreamsError: ``partitions-added``, if the topic has more partitions than before.
        """
        if time.monotonic() - self._looked < _WATCH_S:
            return
        self._looked = time.monotonic()
        try:
            found = len(self._topics.places([self._topic]))
        except PenstockError as error:
            # The next read reports what is wrong with the topic.
            _log.debug("the partitions of topic %s are not known: %s", self._topic, error)
            return
        if found > self._partitions:
            raise StreamsError(
                "partitions-added",
                f"topic {self._topic!r} has {found} partitions now, and had {self._partitions}",
                fix="send the query again: it reads all of them then",
            )


def _record(message: Any) -> RawRecord:
    headers = message.headers()
    return RawRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(headers) if headers else (),
    )


def has_reached(positions: Mapping[Place, int], ends: Mapping[Place, int]) -> bool:
    """Return whether everything before ``ends`` has been read."""
    return all(positions.get(place, 0) >= end for place, end in ends.items())
