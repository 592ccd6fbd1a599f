"""Reads a cache and the store behind it as one: how cached window and session stores iterate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

T = TypeVar("T")

#: Where an item stands in the order of both sides, and the item; None is a cached tombstone.
Cached = tuple[Any, T | None]
Stored = tuple[Any, T]


def merge_cached(
    cached: Iterator[Cached[T]], stored: Iterator[Stored[T]], *, reverse: bool
) -> Iterator[T]:
    """Yields both sides in order. Where both have an item, the cached one wins.

    Kafka Streams forgets a tombstone too early when it iterates backwards; this does not.
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
