"""Typed window stores, for users and operators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from penstock.model.record import Headers
from penstock.model.time.duration import MAX_LONG
from penstock.model.windows.windowed import Windowed
from penstock.state.codec import Codec, key_codec, timestamped, value_codec
from penstock.state.engine.closed_bytes import ClosedBytes
from penstock.state.engine.segments import default_segment_interval_ms
from penstock.state.environment import Changelog, StoreEnvironment
from penstock.state.header_rows import HeadersChangelog, restored_rows, row_codecs
from penstock.state.iterators import PeekingIterator, empty_iterator
from penstock.state.key_value.key_value_store import warn_of_empty_range
from penstock.state.layers.bulk import BulkDuplicates, BulkWindows
from penstock.state.layers.cached_window import BY_KEY, BY_TIME, IN_MEMORY, CachedWindows
from penstock.state.layers.changelogged import TimestampedChangelog
from penstock.state.protocols import FlushListener
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec
from penstock.state.window.memory_window import MemoryWindows
from penstock.state.window.segmented_window import SegmentedWindows
from penstock.state.window.time_ordered_window import TimeOrderedWindows
from penstock.state.window.window_bytes import (
    ALL_KEYS,
    ChangelogRecord,
    KeyRange,
    LoggedWindows,
    WindowBytes,
    WindowEntry,
    WindowRules,
)
from penstock.state.window.window_keys import shared_windows, window_from

K = TypeVar("K")
V = TypeVar("V")


class TypedWindowStore(Generic[K, V]):
    """Values by key and window start. Plain and timestamped stores differ only in their codec.

    Persistent stores iterate by segment, key and time; in memory it is by time, then key.
    """

    def __init__(
        self,
        spec: StoreSpec,
        inner: WindowBytes,
        *,
        keys: Codec,
        values: Codec,
        cached: CachedWindows | None = None,
        bulk: BulkWindows | BulkDuplicates | None = None,
        codecs: Mapping[StoreHeaders, Codec] | None = None,
    ) -> None:
        self.name = spec.name
        #: Access to rows of whole batches; None if rows must be read and written one by one.
        self.bulk = bulk
        self.kind: StoreKind = spec.kind
        self.persistent = spec.persistent
        self.window_size_ms = spec.window_size_ms
        self.headers: StoreHeaders = spec.headers
        #: The codecs of rows with headers, with and without headers in values; empty without
        #: headers.
        self.codecs: Mapping[StoreHeaders, Codec] = codecs or {}
        self._bytes = inner
        self._keys = keys
        self._cached = cached
        self._is_open = True
        self._find: Callable[[bytes, int], tuple[bytes, bytes | None]] = self._find_plainly
        self._replace: Callable[[bytes, bytes | None, int], None] = inner.put
        if cached is not None:
            self._find, self._replace = cached.find, cached.replace
        self._write_key = keys.write
        self.use_values(values)

    def use_values(self, values: Codec) -> None:
        """Use this codec for values from now on."""
        self._values = values
        self._write_value, self._read_value = values.write, values.read

    @property
    def is_open(self) -> bool:
        return self._is_open

    def without_cache(self) -> TypedWindowStore[K, V]:
        """Return a view without the cache, in which expired entries are hidden.

        The cache itself shows entries that it has flushed as long as it has room for them.
        """
        view = copy.copy(self)
        if self._cached is not None:
            view._bytes, view._cached = self._cached.inner, None
        return view

    def put(self, key: K, value: V | None, window_start: int) -> None:
        raw_key = self._keys.write_key(key)
        self._bytes.put(raw_key, self._values.write_checked(value), window_start)

    def read(self, key: K, window_start: int) -> tuple[bytes, V | None]:
        """Return the place of a window, for a following ``write``, and its value."""
        if key is None:
            raise self._keys.null_key()
        try:
            raw_key = self._write_key(key)
        except Exception as error:
            raise self._keys.unfit(key, error) from error
        place, data = self._find(raw_key, window_start)  # type: ignore[arg-type]
        if data is None:
            return place, None
        try:
            return place, self._read_value(data)
        except Exception as error:
            raise self._values.unreadable(data, error) from error

    def write(self, place: bytes, value: V | None, window_start: int) -> None:
        """Put a value at the place from ``read``."""
        try:
            data = None if value is None else self._write_value(value)
        except Exception as error:
            raise self._values.unfit(value, error) from error
        self._replace(place, data, window_start)

    def _find_plainly(self, raw_key: bytes, window_start: int) -> tuple[bytes, bytes | None]:
        return raw_key, self._bytes.get(raw_key, window_start)

    def fetch(self, key: K, time_from: int, time_to: int | None = None) -> Any:
        """Return the value of the window that starts at ``time_from``.

        With ``time_to``, return an iterator over ``(start, value)`` of windows that start in the
        span.
        """
        if time_to is None:
            data = self._bytes.get(self._keys.write_key(key), time_from)
            return None if data is None else self._values.read_checked(data)
        return self._fetch_key(key, time_from, time_to, reverse=False)

    def backward_fetch(
        self, key: K, time_from: int, time_to: int
    ) -> PeekingIterator[tuple[int, V]]:
        return self._fetch_key(key, time_from, time_to, reverse=True)

    def fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self._fetch_range(key_from, key_to, time_from, time_to, reverse=False)

    def backward_fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self._fetch_range(key_from, key_to, time_from, time_to, reverse=True)

    def fetch_all(self, time_from: int, time_to: int) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self._scan(ALL_KEYS, time_from, time_to, reverse=False)

    def backward_fetch_all(
        self, time_from: int, time_to: int
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self._scan(ALL_KEYS, time_from, time_to, reverse=True)

    def all(self) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self._scan(ALL_KEYS, 0, MAX_LONG, reverse=False)

    def backward_all(self) -> PeekingIterator[tuple[Windowed[K], V]]:
        return self._scan(ALL_KEYS, 0, MAX_LONG, reverse=True)

    def flush(self) -> None:
        self._bytes.flush()

    def close(self) -> None:
        inner, self._is_open = self._bytes, False
        closed: Any = ClosedBytes(self.name)
        self._bytes = closed
        self._find, self._replace = self._find_plainly, closed.put
        inner.close()

    def restore(self, records: Iterable[Any]) -> None:
        """Apply changelog records. For a store with headers, they have headers as fourth part."""
        if self.headers is not StoreHeaders.NONE:
            records = restored_rows(records, is_timestamped=True)
        elif self.kind is StoreKind.TIMESTAMPED_WINDOW:
            records = with_timestamps(records)
        self._bytes.restore(records)

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        """Let the cache call the listener, with ``ValueAndTimestamp`` if the store has them."""
        if self._cached is None:
            return False
        read_key, read_value = self._keys.read_checked, self._values.read_checked
        window_at = shared_windows(self.window_size_ms)

        def pass_on(
            key: bytes,
            start: int,
            new: bytes | None,
            old: bytes | None,
            timestamp: int,
            headers: Headers,
        ) -> None:
            windowed = Windowed(read_key(key), window_at(start))
            shown = None if old is None else read_value(old)
            listener(windowed, read_value(new), shown, timestamp, headers)

        self._cached.set_listener(pass_on, send_old=send_old)
        return True

    def _fetch_key(
        self, key: K, time_from: int, time_to: int, *, reverse: bool
    ) -> PeekingIterator[tuple[int, V]]:
        raw_key = self._keys.write_key(key)
        found = self._bytes.scan((raw_key, raw_key), time_from, time_to, reverse=reverse)
        read_value = self._values.read_checked
        return PeekingIterator((start, read_value(data)) for _, start, data in found)

    def _fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int, *, reverse: bool
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        low, high = self._keys.write_checked(key_from), self._keys.write_checked(key_to)
        if low is not None and high is not None and low > high:
            warn_of_empty_range(self.name, key_from, key_to)
            return empty_iterator()
        return self._scan((low, high), time_from, time_to, reverse=reverse)

    def _scan(
        self, keys: KeyRange, time_from: int, time_to: int, *, reverse: bool
    ) -> PeekingIterator[tuple[Windowed[K], V]]:
        found = self._bytes.scan(keys, time_from, time_to, reverse=reverse)
        return PeekingIterator(self._decoded(found))

    def _decoded(self, entries: Iterator[WindowEntry]) -> Iterator[tuple[Windowed[K], V]]:
        read_key, read_value = self._keys.read_checked, self._values.read_checked
        for key, start, data in entries:
            window = window_from(start, self.window_size_ms)
            yield Windowed(read_key(key), window), read_value(data)


def with_timestamps(records: Iterable[ChangelogRecord]) -> Iterator[ChangelogRecord]:
    """Return timestamped rows: the time of the changelog record, then the value."""
    for key, value, timestamp in records:
        time = timestamp.to_bytes(8, "big", signed=True)
        yield key, None if value is None else time + value, timestamp


def open_window_store(spec: StoreSpec, env: StoreEnvironment) -> TypedWindowStore[Any, Any]:
    """Open a window store: engine, then logging, then caching, then serdes."""
    is_timestamped = spec.kind is StoreKind.TIMESTAMPED_WINDOW
    keys, values = key_codec(spec, env), value_codec(spec, env)
    codecs: dict[StoreHeaders, Codec] = {}
    if spec.headers is not StoreHeaders.NONE:
        codecs = row_codecs(values, spec, env, is_timestamped=True)
        values = codecs[spec.headers]
    elif is_timestamped:
        values = timestamped(values)
    store = _open_bytes(spec, env)
    changelog = env.changelog(spec.name) if spec.logging else None
    inner = _logged(store, spec, env, changelog)
    cached = None
    # A cache keeps the last write of a window, which duplicates do not have.
    if spec.caching and env.cache is not None and not spec.retain_duplicates:
        inner = cached = CachedWindows(
            inner,
            env.cache,
            env.context,
            name=spec.name,
            interval_ms=window_rules(spec, env).segment_interval_ms,
            layout=BY_TIME if is_time_ordered(spec) else BY_KEY if spec.persistent else IN_MEMORY,
        )
    bulk: BulkWindows | BulkDuplicates | None = None
    if not codecs:
        is_single = is_timestamped and not spec.retain_duplicates
        # In front of a store in memory, the cache also shows what the store has let go.
        can_batch: Any = SegmentedWindows | TimeOrderedWindows
        if cached is None:
            can_batch |= MemoryWindows
        if is_single and isinstance(store, can_batch):
            bulk = BulkWindows(store, changelog, cached, keys, values)
        elif (
            isinstance(store, SegmentedWindows | MemoryWindows)
            and spec.retain_duplicates
            and not is_timestamped
        ):
            bulk = BulkDuplicates(store, changelog, keys, values)
    return TypedWindowStore(
        spec, inner, keys=keys, values=values, cached=cached, bulk=bulk, codecs=codecs
    )


def window_rules(spec: StoreSpec, env: StoreEnvironment) -> WindowRules:
    """Return the rules of a window or session store; by default, with Kafka Streams' segments."""
    interval_ms = spec.segment_interval_ms
    if not spec.persistent:
        # In memory, each window expires alone: segments of one millisecond, in Kafka's words.
        interval_ms = 1
    elif interval_ms == 0:
        interval_ms = default_segment_interval_ms(spec.retention_ms)
    return WindowRules(
        retention_ms=spec.retention_ms,
        segment_interval_ms=interval_ms,
        retain_duplicates=spec.retain_duplicates,
        expired=lambda: env.expired(spec.name),
    )


def is_time_ordered(spec: StoreSpec) -> bool:
    """Return whether the store is for an aggregation that emits when windows close."""
    return spec.persistent and spec.time_ordered


def _open_bytes(spec: StoreSpec, env: StoreEnvironment) -> WindowBytes:
    rules = window_rules(spec, env)
    if not spec.persistent:
        return MemoryWindows(rules)
    if is_time_ordered(spec):
        return TimeOrderedWindows(env.engine(spec.name), rules)
    return SegmentedWindows(env.engine(spec.name), rules)


def _logged(
    inner: WindowBytes, spec: StoreSpec, env: StoreEnvironment, changelog: Changelog | None
) -> WindowBytes:
    if changelog is None:
        return inner
    if spec.headers is not StoreHeaders.NONE:
        changelog = HeadersChangelog(changelog, env.context, is_timestamped=True)
    elif spec.kind is StoreKind.TIMESTAMPED_WINDOW:
        changelog = TimestampedChangelog(changelog)
    return LoggedWindows(inner, changelog, env.context)
