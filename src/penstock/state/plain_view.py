"""Views of timestamped stores that show values without timestamps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.model.versioned import ValueAndTimestamp
from penstock.state.header_rows import face
from penstock.state.iterators import PeekingIterator
from penstock.state.spec import StoreHeaders, StoreKind

#: The timestamp of a value that is written through the view, as in Kafka's test driver.
NO_TIMESTAMP = -1


class PlainKeyValueView:
    """A view of a timestamped key-value store without timestamps."""

    kind = StoreKind.KEY_VALUE

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.name: str = inner.name
        self.persistent: bool = inner.persistent

    @property
    def is_open(self) -> bool:
        return bool(self._inner.is_open)

    def get(self, key: Any) -> Any:
        return _value(self._inner.get(key))

    def put(self, key: Any, value: Any) -> None:
        self._inner.put(key, _timed(value))

    def put_if_absent(self, key: Any, value: Any) -> Any:
        return _value(self._inner.put_if_absent(key, _timed(value)))

    def put_all(self, entries: Iterable[tuple[Any, Any]]) -> None:
        self._inner.put_all((key, _timed(value)) for key, value in entries)

    def delete(self, key: Any) -> Any:
        return _value(self._inner.delete(key))

    def range(self, start: Any, end: Any) -> PeekingIterator[tuple[Any, Any]]:
        return _values(self._inner.range(start, end))

    def reverse_range(self, start: Any, end: Any) -> PeekingIterator[tuple[Any, Any]]:
        return _values(self._inner.reverse_range(start, end))

    def all(self) -> PeekingIterator[tuple[Any, Any]]:
        return _values(self._inner.all())

    def reverse_all(self) -> PeekingIterator[tuple[Any, Any]]:
        return _values(self._inner.reverse_all())

    def prefix_scan(self, prefix: Any, serializer: Any) -> PeekingIterator[tuple[Any, Any]]:
        return _values(self._inner.prefix_scan(prefix, serializer))

    def approximate_num_entries(self) -> int:
        return int(self._inner.approximate_num_entries())

    def __getitem__(self, key: Any) -> Any:
        return self._inner[key].value

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        del self._inner[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._inner

    def __iter__(self) -> Iterator[Any]:
        return iter(self._inner)

    def flush(self) -> None:
        self._inner.flush()


class PlainWindowView:
    """A view of a timestamped window store without timestamps."""

    kind = StoreKind.WINDOW

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.name: str = inner.name
        self.persistent: bool = inner.persistent
        self.window_size_ms: int = inner.window_size_ms

    @property
    def is_open(self) -> bool:
        return bool(self._inner.is_open)

    def put(self, key: Any, value: Any, window_start: int) -> None:
        self._inner.put(key, _timed(value), window_start)

    def fetch(self, key: Any, time_from: int, time_to: int | None = None) -> Any:
        """Return one value or, with ``time_to``, an iterator over ``(start, value)``."""
        if time_to is None:
            return _value(self._inner.fetch(key, time_from))
        return _values(self._inner.fetch(key, time_from, time_to))

    def backward_fetch(self, key: Any, time_from: int, time_to: int) -> PeekingIterator[Any]:
        return _values(self._inner.backward_fetch(key, time_from, time_to))

    def fetch_range(self, *keys_and_times: Any) -> PeekingIterator[Any]:
        return _values(self._inner.fetch_range(*keys_and_times))

    def backward_fetch_range(self, *keys_and_times: Any) -> PeekingIterator[Any]:
        return _values(self._inner.backward_fetch_range(*keys_and_times))

    def fetch_all(self, time_from: int, time_to: int) -> PeekingIterator[Any]:
        return _values(self._inner.fetch_all(time_from, time_to))

    def backward_fetch_all(self, time_from: int, time_to: int) -> PeekingIterator[Any]:
        return _values(self._inner.backward_fetch_all(time_from, time_to))

    def all(self) -> PeekingIterator[Any]:
        return _values(self._inner.all())

    def backward_all(self) -> PeekingIterator[Any]:
        return _values(self._inner.backward_all())

    def flush(self) -> None:
        self._inner.flush()


def plain_view(store: Any) -> Any:
    """Return a view without timestamps and headers; a plain store is returned as it is."""
    store = face(store, StoreHeaders.KEPT) if hasattr(store, "headers") else store
    if store.kind is StoreKind.TIMESTAMPED_KEY_VALUE:
        return PlainKeyValueView(store)
    if store.kind is StoreKind.TIMESTAMPED_WINDOW:
        return PlainWindowView(store)
    return store


def _value(row: ValueAndTimestamp | None) -> Any:
    return None if row is None else row.value


def _timed(value: Any) -> ValueAndTimestamp | None:
    return None if value is None else ValueAndTimestamp(value, NO_TIMESTAMP)


def _values(entries: Any) -> PeekingIterator[tuple[Any, Any]]:
    return PeekingIterator(_unwrapped(entries))


def _unwrapped(entries: Any) -> Iterator[tuple[Any, Any]]:
    # With ``with``, so that closing this iterator also closes that of the store.
    with entries:
        for key, row in entries:
            yield key, row.value
