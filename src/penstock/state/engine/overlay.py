"""Reading two ordered maps as one: writes that wait on top, what is stored underneath."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.state.bytes_store import Entry, Write


def overlaid(over: Iterable[Write], under: Iterator[Entry], *, reverse: bool) -> Iterator[Entry]:
    """Merges both in key order. For a key in both, ``over`` wins; its None hides the key.

    Both come in the order that ``reverse`` says.
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
