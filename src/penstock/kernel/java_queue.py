"""Java's ``PriorityQueue``. Its order of equal items decides which of two inputs comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class JavaQueue(Generic[T]):
    """A binary heap with the sift rules of Java; ``heapq`` orders equal items differently."""

    __slots__ = ("_items", "_key")

    def __init__(self, key: Callable[[T], int]) -> None:
        self._items: list[T] = []
        self._key = key

    def __len__(self) -> int:
        return len(self._items)

    def peek(self) -> T | None:
        return self._items[0] if self._items else None

    def offer(self, item: T) -> None:
        items, key = self._items, self._key
        items.append(item)
        index, rank = len(items) - 1, key(item)
        while index > 0:
            parent = (index - 1) >> 1
            if rank >= key(items[parent]):
                break
            items[index] = items[parent]
            index = parent
        items[index] = item

    def take_all(self) -> list[T]:
        """Empty the heap; offering the items again in the returned order makes the same heap."""
        items, self._items = self._items, []
        return items

    def poll(self) -> T:
        items = self._items
        result, last = items[0], items.pop()
        if items:
            self._sift_down(last)
        return result

    def _sift_down(self, item: T) -> None:
        items, key = self._items, self._key
        size, index, rank = len(items), 0, key(item)
        while (child := 2 * index + 1) < size:
            right = child + 1
            if right < size and key(items[child]) > key(items[right]):
                child = right
            if rank <= key(items[child]):
                break
            items[index] = items[child]
            index = child
        items[index] = item
