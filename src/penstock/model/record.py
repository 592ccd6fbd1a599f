"""Records as user code sees them, and the position a record was read from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from penstock.errors import StreamsError

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")

Header = tuple[str, bytes | None]
Headers = tuple[Header, ...]


def _check_timestamp(timestamp: int) -> None:
    if timestamp < 0:
        raise StreamsError(
            "negative-timestamp",
            f"timestamp {timestamp} of a record is negative",
            fix="give the record a timestamp of 0 or later (milliseconds since the epoch)",
        )


def checked_headers(given: Iterable[tuple[str, bytes | None]]) -> Headers:
    """Return the headers as a tuple of pairs; refuse what Kafka's producer could not write.

    Raises:
        StreamsError: if one of them is not a name with bytes or None, as in a dictionary.
    """
    headers = tuple(given)
    for header in headers:
        match header:
            case (str(), bytes() | None):
                continue
        raise StreamsError(
            "bad-header",
            f"header {header!r} is not a pair of a name and bytes",
            fix="give pairs such as ('trace', b'1'), or list(headers.items()) of a dictionary",
        )
    return headers


@dataclass(frozen=True, slots=True)
class Record(Generic[K, V]):
    """A key, a value, a timestamp in milliseconds and headers. It is never changed, only copied."""

    key: K
    value: V
    timestamp: int
    headers: Headers = ()

    def __post_init__(self) -> None:
        _check_timestamp(self.timestamp)
        if self.headers.__class__ is not tuple:
            object.__setattr__(self, "headers", checked_headers(self.headers))

    def with_key(self, key: K2) -> Record[K2, V]:
        """Return this record with another key."""
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: V2) -> Record[K, V2]:
        """Return this record with another value."""
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record[K, V]:
        """Return this record with another timestamp, in milliseconds since 1970."""
        return replace(self, timestamp=timestamp)

    def with_headers(self, headers: Headers) -> Record[K, V]:
        """Return this record with other headers."""
        return replace(self, headers=checked_headers(headers))


@dataclass(frozen=True, slots=True)
class FixedKeyRecord(Generic[K, V]):
    """A record whose key cannot be changed: what ``process_values`` passes and accepts."""

    key: K
    value: V
    timestamp: int
    headers: Headers = ()

    def __post_init__(self) -> None:
        _check_timestamp(self.timestamp)
        if self.headers.__class__ is not tuple:
            object.__setattr__(self, "headers", checked_headers(self.headers))

    def with_value(self, value: V2) -> FixedKeyRecord[K, V2]:
        """Return this record with another value."""
        return FixedKeyRecord(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> FixedKeyRecord[K, V]:
        """Return this record with another timestamp, in milliseconds since 1970."""
        return replace(self, timestamp=timestamp)

    def with_headers(self, headers: Headers) -> FixedKeyRecord[K, V]:
        """Return this record with other headers."""
        return replace(self, headers=checked_headers(headers))


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Where the current record was read from; in a punctuation there is no such place."""

    topic: str | None
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class ConsumerRecord(Generic[K, V]):
    """A decoded record with its position, for timestamp extractors and error handlers."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: K
    value: V
    headers: Headers = ()


@dataclass(slots=True)
class RecordContext:
    """The position, timestamp and headers of the record that a task processes right now.

    A task has one of these and changes it in place. Code that needs it later takes a copy.
    """

    timestamp: int
    offset: int
    partition: int
    topic: str | None
    headers: Headers = ()

    def copy(self) -> RecordContext:
        return RecordContext(self.timestamp, self.offset, self.partition, self.topic, self.headers)
