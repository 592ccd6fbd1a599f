"""Merges the entries of a cache with those of the store behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

T = TypeVar("T")

#: The place of an item in the order, and the item; None is a cached tombstone.
Cached = tuple[Any, T | None]
Stored = tuple[Any, T]


def merge_cached(
    cached: Iterator[Cached[T]], stored: Iterator[Stored[T]], *, reverse: bool
) -> Iterator[T]:
    """Yield the items of both sides in order. If both have an item, the cached one wins.

    Kafka Streams drops a tombstone too early when it iterates backwards. This does not.
    """
    cache_head, store_head = next(cached, None), next(stored, None)
    while cache_head is not None or store_head is not None:
        if cache_head is None or (
            store_head is not None and _is_before(store_head[0], cache_head[0], reverse)
        ):
            assert store_head is not None
            yield store_head[1]
            store_head = next(stored, None)
            continue
        if store_head is not None and store_head[0] == cache_head[0]:
            store_head = next(stored, None)
        if cache_head[1] is not None:
            yield cache_head[1]
        cache_head = next(cached, None)


def _is_before(one: Any, other: Any, reverse: bool) -> bool:
    return bool(one > other if reverse else one < other)
