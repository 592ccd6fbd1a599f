"""The kinds of queries. Each one names the read method of a store that answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol

from penstock.errors import InvalidArgumentError
from penstock.model.time.instant import Instant, to_epoch_ms
from penstock.model.versioned import (
    AggregationWithHeaders,
    ValueAndTimestamp,
    ValueTimestampHeaders,
)
from penstock.state.spec import StoreKind

_KEY_VALUE = frozenset({StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE})
_WINDOW = frozenset({StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW})
_SESSION = frozenset({StoreKind.SESSION})
_VERSIONED = frozenset({StoreKind.VERSIONED_KEY_VALUE})
_LAST_MS = 2**62


class ResultOrder(Enum):
    """The order of the rows: by key, or by time for versions."""

    ANY = "ANY"
    ASCENDING = "ASCENDING"
    DESCENDING = "DESCENDING"


class Query(Protocol):
    """A query of one store."""

    @property
    def key(self) -> Any:
        """Return the key, which decides the partition; None queries all partitions."""

    def fits(self, kind: StoreKind) -> bool:
        """Return whether stores of this kind can answer."""

    def call(self, kind: StoreKind) -> tuple[str, tuple[Any, ...]]:
        """Return the name of the store's read method that answers, and its arguments."""

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        """Convert what the store returned into the form that the caller expects."""


@dataclass(frozen=True, slots=True)
class KeyQuery:
    """The value of a key."""

    key: Any

    @staticmethod
    def with_key(key: Any) -> KeyQuery:
        return KeyQuery(_given(key))

    def skip_cache(self) -> KeyQuery:
        """Return this query unchanged: answers come from committed state, never from a cache."""
        return self

    def fits(self, kind: StoreKind) -> bool:
        return kind in _KEY_VALUE

    def call(self, kind: StoreKind) -> tuple[str, tuple[Any, ...]]:
        return "get", (self.key,)

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        return _plain(found)


@dataclass(frozen=True, slots=True)
class TimestampedKeyQuery(KeyQuery):
    """The value of a key with the timestamp of its last update."""

    @staticmethod
    def with_key(key: Any) -> TimestampedKeyQuery:
        return TimestampedKeyQuery(_given(key))

    def fits(self, kind: StoreKind) -> bool:
        return kind is StoreKind.TIMESTAMPED_KEY_VALUE

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        return _timed(found)


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """The entries from one key to another, both included; None leaves an end open."""

    lower: Any = None
    upper: Any = None
    order: ResultOrder = ResultOrder.ANY
    key: None = None

    @classmethod
    def with_range(cls, lower: Any, upper: Any) -> RangeQuery:
        return cls(lower, upper)

    @classmethod
    def with_lower_bound(cls, lower: Any) -> RangeQuery:
        return cls(lower, None)

    @classmethod
    def with_upper_bound(cls, upper: Any) -> RangeQuery:
        return cls(None, upper)

    @classmethod
    def with_no_bounds(cls) -> RangeQuery:
        return cls()

    def with_ascending_keys(self) -> RangeQuery:
        return replace(self, order=ResultOrder.ASCENDING)

    def with_descending_keys(self) -> RangeQuery:
        return replace(self, order=ResultOrder.DESCENDING)

    def fits(self, kind: StoreKind) -> bool:
        return kind in _KEY_VALUE

    def call(self, kind: StoreKind) -> tuple[str, tuple[Any, ...]]:
        is_reversed = self.order is ResultOrder.DESCENDING
        return ("reverse_range" if is_reversed else "range"), (self.lower, self.upper)

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        return [(key, _plain(value)) for key, value in found]


@dataclass(frozen=True, slots=True)
class TimestampedRangeQuery(RangeQuery):
    """The entries from one key to another, with the timestamps of their last updates."""

    def fits(self, kind: StoreKind) -> bool:
        return kind is StoreKind.TIMESTAMPED_KEY_VALUE

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        return [(key, _timed(value)) for key, value in found]


@dataclass(frozen=True, slots=True)
class WindowKeyQuery:
    """The windows of a key that start between two times, as pairs of start and value."""

    key: Any
    time_from: int
    time_to: int

    @staticmethod
    def with_key_and_window_start_range(
        key: Any, time_from: Instant, time_to: Instant
    ) -> WindowKeyQuery:
        return WindowKeyQuery(_given(key), to_epoch_ms(time_from), to_epoch_ms(time_to))

    def fits(self, kind: StoreKind) -> bool:
        return kind in _WINDOW

    def call(self, kind: StoreKind) -> tuple[str, tuple[Any, ...]]:
        return "fetch", (self.key, self.time_from, self.time_to)

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        return [(start, _plain(value)) for start, value in found]


@dataclass(frozen=True, slots=True)
class WindowRangeQuery:
    """All windows that start between two times, or all sessions of a key."""

    key: Any
    time_from: int = 0
    time_to: int = 0

    @staticmethod
    def with_key(key: Any) -> WindowRangeQuery:
        return WindowRangeQuery(_given(key))

    @staticmethod
    def with_window_start_range(time_from: Instant, time_to: Instant) -> WindowRangeQuery:
        return WindowRangeQuery(None, to_epoch_ms(time_from), to_epoch_ms(time_to))

    def fits(self, kind: StoreKind) -> bool:
        return kind in (_WINDOW if self.key is None else _SESSION)

    def call(self, kind: StoreKind) -> tuple[str, tuple[Any, ...]]:
        if self.key is not None:
            return "fetch", (self.key,)
        return "fetch_all", (self.time_from, self.time_to)

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        return [(windowed, _plain(value)) for windowed, value in found]


@dataclass(frozen=True, slots=True)
class VersionedKeyQuery:
    """The version of a key that was valid at a time; without a time, the newest one."""

    key: Any
    as_of_ms: int | None = None

    @staticmethod
    def with_key(key: Any) -> VersionedKeyQuery:
        return VersionedKeyQuery(_given(key))

    def as_of(self, time: Instant) -> VersionedKeyQuery:
        return replace(self, as_of_ms=to_epoch_ms(time))

    def fits(self, kind: StoreKind) -> bool:
        return kind in _VERSIONED

    def call(self, kind: StoreKind) -> tuple[str, tuple[Any, ...]]:
        return "get", (self.key,) if self.as_of_ms is None else (self.key, self.as_of_ms)

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        return found


@dataclass(frozen=True, slots=True)
class MultiVersionedKeyQuery:
    """The versions of a key that were valid at some moment between two times, newest first."""

    key: Any
    from_ms: int = 0
    to_ms: int = _LAST_MS
    order: ResultOrder = ResultOrder.ANY

    @staticmethod
    def with_key(key: Any) -> MultiVersionedKeyQuery:
        return MultiVersionedKeyQuery(_given(key))

    def from_time(self, time: Instant) -> MultiVersionedKeyQuery:
        return replace(self, from_ms=to_epoch_ms(time))

    def to_time(self, time: Instant) -> MultiVersionedKeyQuery:
        return replace(self, to_ms=to_epoch_ms(time))

    def with_ascending_timestamps(self) -> MultiVersionedKeyQuery:
        return replace(self, order=ResultOrder.ASCENDING)

    def with_descending_timestamps(self) -> MultiVersionedKeyQuery:
        return replace(self, order=ResultOrder.DESCENDING)

    def fits(self, kind: StoreKind) -> bool:
        return kind in _VERSIONED

    def call(self, kind: StoreKind) -> tuple[str, tuple[Any, ...]]:
        return "versions", (self.key, self.from_ms, self.to_ms)

    def shaped(self, kind: StoreKind, found: Any) -> Any:
        in_order: Callable[[Any], int] = lambda version: int(version.timestamp)  # noqa: E731
        is_reversed = self.order is not ResultOrder.ASCENDING
        return sorted(found, key=in_order, reverse=is_reversed)


def _given(key: Any) -> Any:
    if key is None:
        raise InvalidArgumentError(
            "null-key", "a query needs a key", fix="name the key, or ask for a range"
        )
    return key


def _plain(value: Any) -> Any:
    """Return the value without its timestamp and headers."""
    if isinstance(value, ValueAndTimestamp | ValueTimestampHeaders):
        return value[0]
    return value.aggregation if isinstance(value, AggregationWithHeaders) else value


def _timed(value: Any) -> ValueAndTimestamp | None:
    return None if value is None else ValueAndTimestamp(value[0], value[1])
