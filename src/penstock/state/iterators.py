"""The iterator over entries that all stores return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from penstock.errors import InvalidStateError

T = TypeVar("T")

_EMPTY: list[Any] = []


class PeekingIterator(Generic[T]):
    """Iterates over ``(key, value)`` items, and can show the next key before it is taken.

    It is a context manager and works in a ``for`` loop. Closing it releases the engine's resources,
    and so does reading to the end. Reading a closed iterator is an error.
    """

    __slots__ = ("_head", "_items")

    def __init__(self, items: Iterator[T]) -> None:
        self._items: Iterator[T] | None = items
        self._head: list[T] = _EMPTY

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._head:
            return self._head.pop()
        if self._items is None:
            raise _closed()
        return next(self._items)

    def has_next(self) -> bool:
        """Return whether another item follows, without taking it."""
        if self._head:
            return True
        if self._items is None:
            raise _closed()
        for item in self._items:
            self._head = [item]
            return True
        return False

    def peek_next_key(self) -> Any:
        """Return the key of the next item without taking it; raise an error at the end."""
        if not self.has_next():
            raise InvalidStateError(
                "iterator-exhausted",
                "peek_next_key() at the end of a store iterator",
                fix="ask has_next() first",
            )
        return self._head[0][0]  # type: ignore[index]

    def close(self) -> None:
        items, self._items, self._head = self._items, None, _EMPTY
        close = getattr(items, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> PeekingIterator[T]:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def empty_iterator() -> PeekingIterator[Any]:
    return PeekingIterator(iter(()))


def _closed() -> InvalidStateError:
    return InvalidStateError(
        "iterator-closed",
        "a store iterator was read after it was closed",
        fix="read the iterator inside its with block, or copy it with list() before closing",
    )
