"""Typed input and output topics of the test driver, as in Java's test utilities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from penstock.errors import InvalidArgumentError, InvalidStateError
from penstock.model.record import Headers
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.serde.base import Serde
from penstock.testing.topic_serdes import read, written

if TYPE_CHECKING:
    from penstock.testing.driver import TopologyTestDriver


_ARGUMENTS = ("value", "timestamp", "headers", "partition")


@dataclass(frozen=True, slots=True)
class TestRecord:
    """A record in a test. Without a timestamp, it gets the time of the topic's clock.

    ``partition`` is the partition of an output record, or the one to pipe to. If it is None, the
    key decides. It is not compared: records in different partitions may be equal.
    """

    __test__ = False

    key: Any
    value: Any
    timestamp: int | None = None
    headers: Headers = ()
    partition: int | None = field(default=None, compare=False)


class TestInputTopic:
    """Pipes records into one topic. Its clock starts at ``start`` and moves by ``auto_advance``."""

    __test__ = False

    def __init__(
        self,
        driver: TopologyTestDriver,
        topic: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        start: datetime | int,
        auto_advance_ms: int,
    ) -> None:
        self._driver = driver
        self._topic = topic
        self._key = key_serde
        self._value = value_serde
        self._now_ms = start if isinstance(start, int) else int(start.timestamp() * 1000)
        self._auto_advance_ms = auto_advance_ms

    @overload
    def pipe_input(
        self,
        value: Any,
        /,
        *,
        key: Any = None,
        timestamp: int | datetime | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None: ...
    @overload
    def pipe_input(
        self,
        key: Any,
        value: Any,
        /,
        timestamp: int | datetime | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None: ...
    @overload
    def pipe_input(
        self,
        *,
        value: Any,
        key: Any = None,
        timestamp: int | datetime | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None: ...
    def pipe_input(self, *given: Any, **named: Any) -> None:
        """Pipe one record: ``pipe_input(value)``, or ``pipe_input(key, value)`` as in Java.

        ``key`` and ``value`` may also be named: ``pipe_input(value, key=key)``.

        Args:
            given: The value; or the key, the value and, if wanted, timestamp, headers, partition.
            named: The same by name. Without a timestamp, the record gets the topic's time, which
                then advances.

        Raises:
            InvalidArgumentError: ``bad-record``: the arguments do not make one record.
        """
        self._pipe(**_record_arguments(given, named))

    def _pipe(
        self,
        value: Any,
        key: Any = None,
        timestamp: int | datetime | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        if isinstance(timestamp, datetime):
            timestamp = int(timestamp.timestamp() * 1000)
        if timestamp is None:
            timestamp = self._now_ms
            self._now_ms += self._auto_advance_ms
        key_bytes = written(self._key, self._topic, key, headers, "key")
        value_bytes = written(self._value, self._topic, value, headers, "value")
        self._driver.pipe_bytes(
            self._topic, key_bytes, value_bytes, timestamp, headers, partition=partition
        )

    def pipe_value_list(self, values: Iterable[Any]) -> None:
        for value in values:
            self._pipe(value)

    def pipe_key_value_list(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        for key, value in pairs:
            self._pipe(value, key)

    def pipe_record_list(self, records: Iterable[TestRecord]) -> None:
        for record in records:
            self._pipe(record.value, record.key, record.timestamp, record.headers, record.partition)

    def advance_time(self, duration: Duration) -> None:
        """Advance the topic's clock. The driver's wall clock does not change."""
        self._now_ms += to_ms(duration)


def _record_arguments(given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of one record by name; a single unnamed one is the value."""
    is_value_alone = len(given) == 1 and "value" not in named
    names = ("value",) if is_value_alone else ("key", *_ARGUMENTS)
    found = dict(zip(names, given, strict=False))
    is_one_record = (
        len(given) <= len(names)
        and not found.keys() & named.keys()
        and named.keys() <= {"key", *_ARGUMENTS}
        and "value" in found | named
    )
    if not is_one_record:
        raise InvalidArgumentError(
            "bad-record",
            f"pipe_input was given {len(given)} arguments and {', '.join(named) or 'no names'}",
            fix="call pipe_input(value), pipe_input(key, value) or pipe_input(value, key=key);"
            " timestamp, headers and partition may follow by name",
            at=caller_site(),
        )
    return found | named


class TestOutputTopic:
    """Reads the records of one topic in order; each is read once."""

    __test__ = False

    def __init__(
        self,
        driver: TopologyTestDriver,
        topic: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
    ) -> None:
        self._driver = driver
        self._topic = topic
        self._key = key_serde
        self._value = value_serde

    def read_record(self) -> TestRecord:
        """Take the next record; raise an error if there is none."""
        record = self._driver.take_next(self._topic)
        if record is None:
            raise InvalidStateError(
                "empty-topic",
                f"topic {self._topic!r} has no unread record",
                fix="ask is_empty first, or check that the topology wrote what the test expects",
                at=caller_site(),
            )
        return TestRecord(
            read(self._key, record.topic, record.key, record.headers, "key"),
            read(self._value, record.topic, record.value, record.headers, "value"),
            record.timestamp,
            record.headers,
            record.partition,
        )

    def read_value(self) -> Any:
        return self.read_record().value

    def read_key_value(self) -> tuple[Any, Any]:
        record = self.read_record()
        return record.key, record.value

    def read_records_to_list(self) -> list[TestRecord]:
        return [self.read_record() for _ in range(self.queue_size)]

    def read_values_to_list(self) -> list[Any]:
        return [record.value for record in self.read_records_to_list()]

    def read_key_values_to_list(self) -> list[tuple[Any, Any]]:
        return [(record.key, record.value) for record in self.read_records_to_list()]

    def read_key_values_to_map(self) -> dict[Any, Any]:
        """Take all unread records, and return the last value of each key."""
        return dict(self.read_key_values_to_list())

    @property
    def is_empty(self) -> bool:
        return self.queue_size == 0

    @property
    def queue_size(self) -> int:
        return self._driver.queue_size(self._topic)
