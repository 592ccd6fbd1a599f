"""Finds the partners of many records of a stream-stream join, for ``stream_join_columns``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import Places, Times

#: More pairs than this are left to the record executor, which does not hold them all at once.
_MOST_PAIRS = 5_000_000
#: Records that were in the store before the batch come before all records of the batch.
STORED = -1


@dataclass(frozen=True, slots=True)
class Seekers:
    """Records that look for partners: the number of the key, and the times of partners.

    ``orders`` has their places among the records of both sides. ``oldest`` is the first time that
    the other side's store shows to each of them.
    """

    keys: Places
    first: Times
    last: Times
    orders: Places
    oldest: Times


@dataclass(frozen=True, slots=True)
class Found:
    """Records that may be found, each key's in the order in which its store has them."""

    keys: Places
    times: Times
    orders: Places


class Pairs(NamedTuple):
    """The places of seekers and of what they have found, in the order in which they find it."""

    seekers: Places
    found: Places


def matches(seekers: Seekers, others: Found) -> Pairs:
    """Return all pairs of a seeker and an earlier record of its key within the seeker's times."""
    none = np.empty(0, np.int64)
    if not len(seekers.keys) or not len(others.keys):
        return Pairs(none, none)
    # A stable sort keeps the order of records with the same key and time.
    order = np.lexsort((others.times, others.keys))
    keys, times = others.keys[order], others.times[order]
    low, high = int(times.min()), int(times.max())
    span = high - low + 2
    if int(max(keys.max(), seekers.keys.max())) + 1 > np.iinfo(np.int64).max // span:
        raise NotProvenError("the times of its records are too far apart")
    places = keys * span + (times - low)
    first = seekers.keys * span + np.clip(seekers.first, low, high + 1) - low
    # Clipped to one before all times, the last time is before the first.
    last = seekers.keys * span + np.clip(seekers.last, low - 1, high) - low
    begins = np.searchsorted(places, first, "left")
    counts = np.maximum(np.searchsorted(places, last, "right") - begins, 0)
    total = int(counts.sum())
    if total > _MOST_PAIRS:
        raise NotProvenError("it has too many pairs for one batch")
    who = np.repeat(np.arange(len(counts)), counts)
    at = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts) + begins[who]
    what = order[at]
    is_seen = (others.orders[what] < seekers.orders[who]) & (
        others.times[what] >= seekers.oldest[who]
    )
    who, what = who[is_seen], what[is_seen]
    in_turn = np.argsort(seekers.orders[who], kind="stable")
    return Pairs(who[in_turn], what[in_turn])


def times_before(orders: Places, times: Times, moments: Places, start: int) -> Times:
    """Return the highest time of the records before each moment, or ``start`` if that is higher.

    Args:
        orders: the places of the records, ascending.
        times: their times.
        moments: places of other records.
        start: the highest time before the batch.
    """
    highest = np.maximum.accumulate(np.concatenate([np.array([start], np.int64), times]))
    seen: Times = highest[np.searchsorted(orders, moments, "left")]
    return seen
