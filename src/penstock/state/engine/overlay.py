"""Reads two ordered maps as one: pending writes over stored entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.state.bytes_store import Entry, Write


def overlaid(over: Iterable[Write], under: Iterator[Entry], *, reverse: bool) -> Iterator[Entry]:
    """Merge two maps in key order. For a key in both, ``over`` wins; None in it hides the key.

    Both must be in the order of ``reverse``.
    """
    below = next(under, None)
    for key, value in over:
        while below is not None and (below[0] > key if reverse else below[0] < key):
            yield below
            below = next(under, None)
        if below is not None and below[0] == key:
            below = next(under, None)
        if value is not None:
            yield key, value
    if below is not None:
        yield below
        yield from under
