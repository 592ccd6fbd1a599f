"""Iteration orders of Java's hash and tree sets. The text of ``describe()`` depends on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


def string_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` as an unsigned 32-bit number."""
    value = 0
    units = text.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def hash_order(names: Iterable[str], *, presized: bool = False) -> list[str]:
    """Return names in the order of a ``HashSet`` to which they were added one by one.

    ``presized`` is for the copy constructor, which allocates room for all of them at once.
    """
    distinct = list(dict.fromkeys(names))
    capacity = 16
    if presized:
        while capacity < int(len(distinct) / 0.75) + 1:
            capacity *= 2
    while len(distinct) > capacity * 0.75:
        capacity *= 2

    def bucket(name: str) -> int:
        value = string_hash(name)
        return (value ^ value >> 16) & capacity - 1

    return sorted(distinct, key=bucket)


@dataclass(slots=True)
class _Entry(Generic[T]):
    item: T
    parent: _Entry[T] | None
    left: _Entry[T] | None = None
    right: _Entry[T] | None = None
    is_red: bool = True


class TreeOrder(Generic[T]):
    """A ``TreeSet`` whose elements may compare differently at each insertion.

    Java compares node sizes while they still grow. So the order depends on the shape of the
    red-black tree at each insertion, and sorting at the end would lead to another text.
    """

    def __init__(self, compare: Callable[[T, T], int]) -> None:
        self._compare = compare
        self._root: _Entry[T] | None = None

    def add(self, item: T) -> None:
        parent, sign = None, 0
        entry = self._root
        while entry is not None:
            parent = entry
            sign = self._compare(item, entry.item)
            if sign == 0:
                return
            entry = entry.left if sign < 0 else entry.right
        new = _Entry(item, parent)
        if parent is None:
            self._root = new
        elif sign < 0:
            parent.left = new
        else:
            parent.right = new
        self._rebalance(new)

    def __iter__(self) -> Iterator[T]:
        def walk(entry: _Entry[T] | None) -> Iterator[T]:
            if entry is not None:
                yield from walk(entry.left)
                yield entry.item
                yield from walk(entry.right)

        return walk(self._root)

    def _rebalance(self, entry: _Entry[T]) -> None:
        while (parent := entry.parent) is not None and parent.is_red:
            grandparent = parent.parent
            # A red parent is never the root, so there is a grandparent.
            assert grandparent is not None
            on_left = parent is grandparent.left
            uncle = grandparent.right if on_left else grandparent.left
            if uncle is not None and uncle.is_red:
                parent.is_red = uncle.is_red = False
                grandparent.is_red = True
                entry = grandparent
                continue
            if entry is (parent.right if on_left else parent.left):
                self._rotate(parent, left=on_left)
                entry, parent = parent, entry
            parent.is_red = False
            grandparent.is_red = True
            self._rotate(grandparent, left=not on_left)
        assert self._root is not None
        self._root.is_red = False

    def _rotate(self, entry: _Entry[T], *, left: bool) -> None:
        child = entry.right if left else entry.left
        assert child is not None
        inner = child.left if left else child.right
        if left:
            entry.right, child.left = inner, entry
        else:
            entry.left, child.right = inner, entry
        if inner is not None:
            inner.parent = entry
        parent = entry.parent
        child.parent, entry.parent = parent, child
        if parent is None:
            self._root = child
        elif parent.left is entry:
            parent.left = child
        else:
            parent.right = child
