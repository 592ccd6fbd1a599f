"""Iterators over store entries, as every store hands them out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from penstock.errors import InvalidStateError

T = TypeVar("T")

_EMPTY: list[Any] = []


class PeekingIterator(Generic[T]):
    """Gives ``(key, value)`` items one by one and can show the next key before taking it.

    A context manager, and usable in a ``for`` loop. Closing releases what the engine holds for
    it; reading after that is an error. Reading to the end releases as well.
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
        """Tells whether another item follows, without taking it."""
        if self._head:
            return True
        if self._items is None:
            raise _closed()
        for item in self._items:
            self._head = [item]
            return True
        return False

    def peek_next_key(self) -> Any:
        """Gives the key of the next item without taking it; at the end, raises."""
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
