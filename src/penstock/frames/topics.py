"""``penstock.read``: the records of a topic as objects, or as a table, without Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from confluent_kafka import Message

from penstock.errors import DeserializationError, InvalidArgumentError
from penstock.frames.arrow_types import INSTANT
from penstock.frames.entries import entries_table
from penstock.frames.frame import Tabular
from penstock.kafka.admin import Admin
from penstock.kafka.java_settings import for_librdkafka
from penstock.kafka.nearby_broker import nearby_broker
from penstock.kafka.topic_reader import Span, read_to_end
from penstock.model.record import ConsumerRecord
from penstock.model.site import caller_site
from penstock.model.time.duration import to_ms
from penstock.model.time.moment import moment_ms
from penstock.serde.base import Serde
from penstock.serde.serdes import SerdeLike, resolve_serde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde

_WINDOWED = (TimeWindowedSerde, SessionWindowedSerde)


def read(
    topic: str,
    *,
    key: SerdeLike = "string",
    value: SerdeLike = "string",
    bootstrap_servers: str | None = None,
    config: Mapping[str, Any] | None = None,
    since: datetime | timedelta | str | None = None,
) -> TopicRecords:
    """Return the committed records of a topic; nothing is read before they are asked for.

    Each use reads the topic anew, from its beginning to where it ends then. No consumer group is
    joined, and neither Spark nor Java is needed.

    >>> averages = read("averages", value=float)         # doctest: +SKIP
    >>> for record in averages:                          # doctest: +SKIP
    ...     print(record.key, record.value)
    >>> averages.latest().to_polars()                    # doctest: +SKIP

    Args:
        topic: its name.
        key: the serde of keys: a type, a name or a serde, as for ``builder.stream``.
        value: the serde of values, for example a dataclass.
        bootstrap_servers: the cluster; by default the broker of this folder: that of the project,
            or the private one of a program that ``penstock run`` runs here.
        config: more settings of the consumer by Kafka's names, such as a login.
        since: leave out records before this time, which may be text such as
            ``"2026-03-02T10:00:00Z"``, or before this long ago, such as ``"15m"``.

    Raises:
        BrokerError: ``no-broker``: no cluster is named, and no broker runs here.
    """
    given = dict(config or {})
    if bootstrap_servers is not None:
        given["bootstrap.servers"] = bootstrap_servers
    elif not given.get("bootstrap.servers"):
        given["bootstrap.servers"] = nearby_broker()
    since_ms = None if since is None else _since_ms(since)
    serdes = (_serde(key, "key"), _serde(value, "value"))
    return TopicRecords(topic, serdes, given, since_ms)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TopicRecords(Tabular):
    """The records of a topic: iterate over them, or make a table of them. See ``penstock.read``."""

    topic: str
    _serdes: tuple[Serde[Any], Serde[Any]]
    _settings: Mapping[str, Any]
    _since_ms: int | None = None
    _is_latest: bool = field(default=False)

    def latest(self) -> TopicRecords:
        """Return only the last record of each key, without keys whose value was deleted.

        This is the table whose changes the topic has.
        """
        return replace(self, _is_latest=True)

    def __iter__(self) -> Iterator[ConsumerRecord[Any, Any]]:
        """Yield the records in the order of their partitions.

        Raises:
            UnknownTopicError: there is no such topic.
            DeserializationError: a record is not what the serdes read; it names the place.
        """
        return iter(self._last_of_each_key()) if self._is_latest else self._all()

    def to_arrow(self) -> pa.Table:
        """Return a table: key, bounds of the window, columns of the value, time and place.

        Members of a dataclass, dict or schema are columns. One that has the name of another column,
        such as ``timestamp``, is called ``value_timestamp``.
        """
        records = list(self)
        key, value = self._serdes
        return entries_table(
            [record.key for record in records],
            [record.value for record in records],
            key_serde=key,
            value_serde=value,
            is_windowed=isinstance(key, _WINDOWED),
            record={
                "timestamp": pa.array([record.timestamp for record in records], INSTANT),
                "partition": pa.array([record.partition for record in records], pa.int32()),
                "offset": pa.array([record.offset for record in records], pa.int64()),
            },
        )

    def __repr__(self) -> str:
        return f"<records of topic {self.topic!r}: iterate, or call to_polars(), to_pandas() …>"

    def _all(self) -> Iterator[ConsumerRecord[Any, Any]]:
        for message in self._messages():
            yield self._record(message)

    def _last_of_each_key(self) -> Sequence[ConsumerRecord[Any, Any]]:
        found: dict[tuple[int | None, bytes | None], Message] = {}
        for message in self._messages():
            # Removed first, so that the order is that of the last records.
            place = message.partition(), message.key()
            found.pop(place, None)
            if message.value() is not None:
                found[place] = message
        return [self._record(message) for message in found.values()]

    def _messages(self) -> Iterator[Message]:
        return read_to_end(for_librdkafka(self._settings, "consumer"), self._spans())

    def _spans(self) -> dict[tuple[str, int], Span]:
        admin = Admin(for_librdkafka(self._settings, "admin"))
        places = [(self.topic, state.id) for state in admin.topic(self.topic).partitions]
        if self._since_ms is None:
            starts = admin.begin_offsets(places)
        else:
            starts = admin.offsets_at(places, self._since_ms)
        ends = admin.end_offsets(places, committed=True)
        # Kafka answers -1 for a time after the last record.
        return {
            place: (end if starts[place] < 0 else starts[place], end) for place, end in ends.items()
        }

    def _record(self, message: Any) -> ConsumerRecord[Any, Any]:
        headers = tuple(message.headers() or ())
        key, value = (
            self._decoded(message, part, serde, data, headers)
            for part, serde, data in zip(
                ("key", "value"), self._serdes, (message.key(), message.value()), strict=True
            )
        )
        place = (self.topic, message.partition(), message.offset())
        return ConsumerRecord(*place, message.timestamp()[1], key, value, headers)

    def _decoded(
        self, message: Any, part: str, serde: Serde[Any], data: bytes | None, headers: Any
    ) -> Any:
        try:
            return serde.deserialize(self.topic, data, headers)
        except (TypeError, ValueError, LookupError) as error:
            raise DeserializationError(
                "deserialization",
                f"the {part} at topic {self.topic!r} partition {message.partition()} offset"
                f" {message.offset()} is not {serde.layout}: {error}",
                fix=f"name the serde that it was written with: penstock.read(…, {part}=…)",
                at=caller_site(),
            ) from None


def _serde(given: SerdeLike, part: str) -> Serde[Any]:
    serde = resolve_serde(given)
    if serde is None or serde.is_open:
        raise InvalidArgumentError(
            "missing-serde",
            f"penstock.read needs a serde for the {part}s",
            fix=f'name it with {part}=, for example {part}="json" or a dataclass',
            at=caller_site(),
        )
    return serde


def _since_ms(since: datetime | timedelta | str) -> int:
    if isinstance(since, datetime):
        return int(since.timestamp() * 1000)
    now_ms = time.time_ns() // 1_000_000
    return now_ms - to_ms(since) if isinstance(since, timedelta) else moment_ms(since, now_ms)
