"""The protocols of stores, for users and operators: Java's names in snake_case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from penstock.model.record import Headers
from penstock.model.versioned import ValueAndTimestamp, VersionedRecord
from penstock.model.windows.windowed import Windowed
from penstock.state.spec import StoreKind

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
KIn = TypeVar("KIn", contravariant=True)

#: Is called for each entry that a cache flushes: key, new value, old value (None unless asked for),
#: timestamp, headers. The key of a window or session store is a ``Windowed``.
FlushListener = Callable[[Any, Any, Any, int, Headers], None]


class StoreIterator(Protocol[T]):
    """An iterator over entries, and a context manager. Close it unless it is read to the end."""

    def __iter__(self) -> Iterator[T]: ...
    def __next__(self) -> T: ...
    def __enter__(self) -> StoreIterator[T]: ...
    def __exit__(self, *exc: object) -> None: ...
    def close(self) -> None: ...
    def peek_next_key(self) -> Any: ...


class StateStore(Protocol):
    """What all kinds of stores have."""

    name: str
    kind: StoreKind
    persistent: bool

    @property
    def is_open(self) -> bool: ...

    def flush(self) -> None:
        """Flush the cache: write to the inner store and call the flush listener."""

    def close(self) -> None: ...

    def restore(self, records: Iterable[tuple[bytes, bytes | None, int]]) -> None:
        """Apply changelog records (key bytes, value bytes, timestamp) without logging them."""

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        """Set the listener. Return true if the store is cached and will call it.

        Otherwise the caller forwards its updates itself.
        """


class KeyValueStore(StateStore, Protocol, Generic[K, V]):
    """A map from key to value. Ranges are inclusive and in the order of serialized keys."""

    def get(self, key: K) -> V | None:
        """Return the value of a key, or ``None``."""

    def put(self, key: K, value: V | None) -> None:
        """Write the value of a key; ``None`` deletes it."""

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Write the value unless the key has one; return the old value."""

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Write several keys and values."""

    def delete(self, key: K) -> V | None:
        """Delete a key and return its old value."""

    def range(self, start: K | None, end: K | None) -> StoreIterator[tuple[K, V]]:
        """Return the entries between two keys, both included, in order of their bytes."""

    def reverse_range(self, start: K | None, end: K | None) -> StoreIterator[tuple[K, V]]:
        """Return the entries between two keys, the last one first."""

    def all(self) -> StoreIterator[tuple[K, V]]:
        """Return all entries in order of their bytes."""

    def reverse_all(self) -> StoreIterator[tuple[K, V]]:
        """Return all entries, the last one first."""

    def prefix_scan(self, prefix: Any, serializer: Any) -> StoreIterator[tuple[K, V]]:
        """Return the entries whose keys begin with these bytes."""

    def approximate_num_entries(self) -> int:
        """Return about how many entries there are."""

    def __getitem__(self, key: K) -> V: ...
    def __setitem__(self, key: K, value: V) -> None: ...
    def __delitem__(self, key: K) -> None: ...
    def __contains__(self, key: K) -> bool: ...
    def __iter__(self) -> Iterator[K]: ...


class TimestampedKeyValueStore(KeyValueStore[K, ValueAndTimestamp], Protocol, Generic[K]):
    """A key-value store whose values have the event time of their update."""


class WindowStore(StateStore, Protocol, Generic[K, V]):
    """Values by key and window start, kept for the retention time. All bounds are inclusive.

    ``fetch(key, t)`` returns one value; ``fetch(key, t1, t2)`` iterates over ``(start, value)``.
    """

    def put(self, key: K, value: V | None, window_start: int) -> None:
        """Write the value of a key for the window that starts at this time."""

    def fetch(self, key: K, time_from: int, time_to: int | None = None) -> Any:
        """Return the value of one window of a key, or its windows that start in a span."""

    def backward_fetch(self, key: K, time_from: int, time_to: int) -> StoreIterator[Any]:
        """Return the windows of a key that start in a span, the last one first."""

    def fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the windows of a range of keys that start in a span."""

    def backward_fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the windows of a range of keys, the last one first."""

    def fetch_all(self, time_from: int, time_to: int) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the windows of all keys that start in a span."""

    def backward_fetch_all(
        self, time_from: int, time_to: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the windows of all keys that start in a span, the last one first."""

    def all(self) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return all windows."""

    def backward_all(self) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return all windows, the last one first."""


class SessionStore(StateStore, Protocol, Generic[K, V]):
    """Aggregates by key and session. A session's window includes both of its bounds."""

    def put(self, session: Windowed[K], value: V | None) -> None:
        """Write the aggregate of a session; ``None`` deletes it."""

    def remove(self, session: Windowed[K]) -> None:
        """Delete a session."""

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """Return the aggregate of the session with this start and end, or ``None``."""

    def fetch(self, key: K) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return all sessions of a key."""

    def fetch_range(
        self, key_from: K | None, key_to: K | None
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return all sessions of a range of keys."""

    def backward_fetch(self, key: K) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return all sessions of a key, the last one first."""

    def backward_fetch_range(
        self, key_from: K | None, key_to: K | None
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return all sessions of a range of keys, the last one first."""

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the sessions of a key that touch a span of time."""

    def find_sessions_range(
        self, key_from: K | None, key_to: K | None, earliest_end: int, latest_start: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the sessions of a range of keys that touch a span of time."""

    def find_sessions_ending(
        self, earliest_end: int, latest_end: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the sessions of all keys whose end is in the span, by end time, then key."""

    def backward_find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return the sessions of a key that touch a span, the last one first."""

    def backward_find_sessions_range(
        self, key_from: K | None, key_to: K | None, earliest_end: int, latest_start: int
    ) -> StoreIterator[tuple[Windowed[K], V]]:
        """Return such sessions of a range of keys, the last one first."""


class VersionedKeyValueStore(StateStore, Protocol, Generic[KIn, V]):
    """All versions of a value within the history retention."""

    def put(self, key: KIn, value: V | None, timestamp: int) -> int:
        """Write a version of a key; return until when it is valid."""

    def delete(self, key: KIn, timestamp: int) -> VersionedRecord[V] | None:
        """Delete a key from this time on; return the version that was valid."""

    def get(self, key: KIn, as_of: int | None = None) -> VersionedRecord[V] | None:
        """Return the latest version of a key, or the one that was valid at a time."""
