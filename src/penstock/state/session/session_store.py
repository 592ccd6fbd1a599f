"""Typed session stores, for users and operators."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from penstock.errors import NullArgumentError
from penstock.model.record import Headers
from penstock.model.time.duration import MAX_LONG
from penstock.model.windows.windowed import Window, Windowed
from penstock.state.codec import Codec, key_codec, value_codec
from penstock.state.engine.closed_bytes import ClosedBytes
from penstock.state.environment import StoreEnvironment
from penstock.state.header_rows import HeadersChangelog, restored_rows, row_codecs
from penstock.state.iterators import PeekingIterator, empty_iterator
from penstock.state.key_value.key_value_store import warn_of_empty_range
from penstock.state.layers.bulk_sessions import BulkSessions
from penstock.state.layers.cached_session import CachedSessions
from penstock.state.protocols import FlushListener
from penstock.state.session.memory_session import MemorySessions
from penstock.state.session.segmented_session import SegmentedSessions
from penstock.state.session.session_bytes import (
    BatchedSessions,
    LoggedSessions,
    SessionBytes,
    SessionEntry,
)
from penstock.state.session.time_ordered_session import TimeOrderedSessions
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec
from penstock.state.window.window_bytes import KeyRange
from penstock.state.window.window_store import is_time_ordered, window_rules

K = TypeVar("K")
V = TypeVar("V")


class TypedSessionStore(Generic[K, V]):
    """Aggregates by key and session.

    Persistent stores iterate by segment, key and end; in memory it is by end, then key. Backward
    reads return the same sessions in the opposite order.
    """

    def __init__(
        self,
        spec: StoreSpec,
        inner: SessionBytes,
        *,
        keys: Codec,
        values: Codec,
        cached: CachedSessions | None = None,
        bulk: BulkSessions | None = None,
        codecs: Mapping[StoreHeaders, Codec] | None = None,
    ) -> None:
        self.name = spec.name
        self.kind: StoreKind = spec.kind
        self.persistent = spec.persistent
        self.headers: StoreHeaders = spec.headers
        #: The codecs of rows with headers, with and without headers in values; empty without
        #: headers.
        self.codecs: Mapping[StoreHeaders, Codec] = codecs or {}
        self._bytes = inner
        self._keys = keys
        self.use_values(values)
        self._cached = cached
        #: All sessions of a batch at once, for column executors.
        self.bulk = bulk
        self._is_open = True

    @property
    def is_open(self) -> bool:
        return self._is_open

    def without_cache(self) -> TypedSessionStore[K, V]:
        """Return a view without the cache, in which expired entries are hidden.

        The cache itself shows entries that it has flushed as long as it has room for them.
        """
        view = copy.copy(self)
        if self._cached is not None:
            view._bytes, view._cached = self._cached.inner, None
        return view

    def use_values(self, values: Codec) -> None:
        """Use this codec for values from now on."""
        self._values = values

    def put(self, session: Windowed[K], value: V | None) -> None:
        raw_key = self._session_key(session)
        self._bytes.put(raw_key, session.start, session.end, self._values.write_checked(value))

    def remove(self, session: Windowed[K]) -> None:
        self._bytes.remove(self._session_key(session), session.start, session.end)

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        data = self._bytes.get(self._keys.write_key(key), start, end)
        return self._values.read_checked(data)  # type: ignore[no-any-return]

    def fetch(self, key: K) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self.find_sessions(key, 0, MAX_LONG)

    def fetch_range(
        self, key_from: K | None, key_to: K | None
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self.find_sessions_range(key_from, key_to, 0, MAX_LONG)

    def backward_fetch(self, key: K) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self.backward_find_sessions(key, 0, MAX_LONG)

    def backward_fetch_range(
        self, key_from: K | None, key_to: K | None
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self.backward_find_sessions_range(key_from, key_to, 0, MAX_LONG)

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        raw_key = self._keys.write_key(key)
        return self._scan((raw_key, raw_key), earliest_end, latest_start, reverse=False)

    def find_sessions_range(
        self, key_from: K | None, key_to: K | None, earliest_end: int, latest_start: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        keys = self._key_range(key_from, key_to)
        if keys is None:
            return empty_iterator()
        return self._scan(keys, earliest_end, latest_start, reverse=False)

    def find_sessions_ending(
        self, earliest_end: int, latest_end: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        """Return the sessions of all keys whose end is in the span, by end time.

        Sessions with the same end are ordered by start, then key. In memory, they are ordered by
        key, then the latest start first, as in Kafka Streams.
        """
        return PeekingIterator(self._decoded(self._bytes.scan_ending(earliest_end, latest_end)))

    def backward_find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        raw_key = self._keys.write_key(key)
        return self._scan((raw_key, raw_key), earliest_end, latest_start, reverse=True)

    def backward_find_sessions_range(
        self, key_from: K | None, key_to: K | None, earliest_end: int, latest_start: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        keys = self._key_range(key_from, key_to)
        if keys is None:
            return empty_iterator()
        return self._scan(keys, earliest_end, latest_start, reverse=True)

    def flush(self) -> None:
        self._bytes.flush()

    def close(self) -> None:
        inner, self._is_open = self._bytes, False
        closed: Any = ClosedBytes(self.name)
        self._bytes = closed
        inner.close()

    def restore(self, records: Iterable[Any]) -> None:
        """Apply changelog records. For a store with headers, they have headers as fourth part."""
        if self.headers is not StoreHeaders.NONE:
            records = restored_rows(records, is_timestamped=False)
        self._bytes.restore(records)

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        """Let the cache call the listener with a ``Windowed`` key."""
        if self._cached is None:
            return False
        read_key, read_value = self._keys.read_checked, self._values.read_checked

        def pass_on(
            key: bytes,
            start: int,
            end: int,
            new: bytes | None,
            old: bytes | None,
            timestamp: int,
            headers: Headers,
        ) -> None:
            session = Windowed(read_key(key), Window(start, end))
            listener(session, read_value(new), read_value(old), timestamp, headers)

        self._cached.set_listener(pass_on, send_old=send_old)
        return True

    def _session_key(self, session: Windowed[K] | None) -> bytes:
        if session is None:
            raise NullArgumentError("null-key", f"store {self.name!r}: the session is None")
        return self._keys.write_key(session.key)

    def _key_range(self, key_from: K | None, key_to: K | None) -> KeyRange | None:
        low, high = self._keys.write_checked(key_from), self._keys.write_checked(key_to)
        if low is not None and high is not None and low > high:
            warn_of_empty_range(self.name, key_from, key_to)
            return None
        return low, high

    def _scan(
        self, keys: KeyRange, earliest_end: int, latest_start: int, *, reverse: bool
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        found = self._bytes.scan(keys, earliest_end, latest_start, reverse=reverse)
        return PeekingIterator(self._decoded(found))

    def _decoded(self, entries: Iterator[SessionEntry]) -> Iterator[tuple[Windowed[K], V]]:
        read_key, read_value = self._keys.read_checked, self._values.read_checked
        for key, start, end, data in entries:
            yield Windowed(read_key(key), Window(start, end)), read_value(data)


def open_session_store(spec: StoreSpec, env: StoreEnvironment) -> TypedSessionStore[Any, Any]:
    """Open a session store: engine, then logging, then caching, then serdes."""
    rules = window_rules(spec, env)
    store: BatchedSessions
    if not spec.persistent:
        store = MemorySessions(rules)
    elif is_time_ordered(spec):
        store = TimeOrderedSessions(env.engine(spec.name), rules)
    else:
        store = SegmentedSessions(env.engine(spec.name), rules)
    inner: SessionBytes = store
    changelog = env.changelog(spec.name) if spec.logging else None
    values, codecs = value_codec(spec, env), dict[StoreHeaders, Codec]()
    if spec.headers is not StoreHeaders.NONE:
        codecs = row_codecs(values, spec, env, is_timestamped=False)
        values = codecs[spec.headers]
        if changelog is not None:
            changelog = HeadersChangelog(changelog, env.context, is_timestamped=False)
    if changelog is not None:
        inner = LoggedSessions(inner, changelog, env.context)
    cached = None
    if spec.caching and env.cache is not None:
        inner = cached = CachedSessions(
            inner,
            env.cache,
            env.context,
            name=spec.name,
            interval_ms=rules.segment_interval_ms,
            in_memory=not spec.persistent,
        )
    keys = key_codec(spec, env)
    bulk = None
    if not codecs:
        bulk = BulkSessions(store, changelog, cached, keys, values)
    return TypedSessionStore(
        spec, inner, keys=keys, values=values, cached=cached, bulk=bulk, codecs=codecs
    )
