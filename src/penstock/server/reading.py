"""Reading topics for queries: partitions from given offsets, without a consumer group."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from penstock.config import StreamsConfig
from penstock.errors import PenstockError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition
from penstock.kafka.client_config import admin_settings, consumer_settings
from penstock.kafka.topic_reader import Positions, TopicReader
from penstock.kernel.record_queue import RawRecord

_log = logging.getLogger("penstock.server")

#: A topic and the number of one of its partitions.
Place = Partition

#: How often readers that follow a topic look for new partitions.
_WATCH_S = 30.0


class Reader(Protocol):
    """Read committed records of some partitions, in the order of each partition."""

    @property
    def positions(self) -> Positions:
        """The offset of the next record, by partition. Only records before it have been seen."""

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

    def written(self, places: Iterable[Place]) -> Positions:
        """Return the offsets after the last records, also of transactions that are open."""

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

    def written(self, places: Iterable[Place]) -> Positions:
        return self._connected().end_offsets(places, committed=False)

    def reader(self, starts: Mapping[Place, int], *, is_eager: bool = False) -> Reader:
        return RecordReader(self._config, starts, is_eager=is_eager)

    def _connected(self) -> Admin:
        with self._lock:
            if self._admin is None:
                self._admin = Admin(admin_settings(self._config))
            return self._admin


class RecordReader:
    """A ``TopicReader`` whose records are those of the kernel. One thread may use it."""

    def __init__(
        self, config: StreamsConfig, starts: Mapping[Place, int], *, is_eager: bool = False
    ) -> None:
        settings = consumer_settings(config, "restore") | {
            "group.id": "penstock-queries",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        self._reader = TopicReader(settings, starts, is_eager=is_eager)

    @property
    def positions(self) -> Positions:
        return self._reader.positions

    def read(self, timeout_s: float) -> list[RawRecord]:
        """Wait for a record, and return it with those that are there already.

        Raises:
            StreamsError: ``topic-gone``, if a topic was deleted.
            KafkaRequestError: a right is missing.
        """
        return [_record(message) for message in self._reader.read(timeout_s)]

    def ends(self) -> Positions:
        return self._reader.ends()

    def forget(self, places: Iterable[Place]) -> None:
        self._reader.forget(places)

    def close(self) -> None:
        self._reader.close()


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
