"""Finds what keys held before an offset of a changelog, by reading it backwards.

A changelog is compacted: of a key that has changed since, the older value may be gone. Then nobody
can say what it was, and the answer says that instead of guessing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.serving.application import StoreChange
from penstock.serving.past.values import Changes

#: Reads the changes of one partition between two offsets.
ReadChanges = Callable[[int, int], Changes]

#: How many offsets are read at first, and at most: each step reads twice as far.
_FIRST = 2_000
MOST_LOOKED_BACK = 100_000


class Place(NamedTuple):
    """Which row of a store a change is about. ``key`` is serialized."""

    key: bytes
    window_start: int | None = None
    window_end: int | None = None


@dataclass(slots=True)
class Before:
    """What some rows held before an offset."""

    #: By row: the last change before the offset. None: the row did not exist.
    found: dict[Place, StoreChange | None] = field(default_factory=dict)
    #: Rows whose older value is gone, or is too far back.
    unknown: set[Place] = field(default_factory=set)


def look_back(
    read: ReadChanges,
    place_of: Callable[[StoreChange], Place],
    wanted: Iterable[Place],
    end: int,
    most: int = MOST_LOOKED_BACK,
) -> Before:
    """Return what rows held before an offset.

    Args:
        read: reads changes of the partition.
        place_of: says which row a change is about.
        wanted: the rows.
        end: the offset.
        most: how many offsets may be read.
    """
    missing, before = set(wanted), Before()
    step, upper, is_whole = _FIRST, end, True
    while missing and upper > 0 and end - upper < most:
        lower = max(upper - step, 0)
        read_back = read(lower, upper)
        is_whole = is_whole and read_back.is_whole
        for change in reversed(read_back.changes):
            place = place_of(change)
            if place in missing:
                missing.discard(place)
                before.found[place] = None if change.value is None else change
        upper, step = max(lower, 0), step * 2
        if read_back.begins >= upper:
            # Retention or compaction has taken what was before.
            is_whole = is_whole and read_back.begins == 0
            upper = 0
    if upper == 0 and is_whole:
        before.found.update(dict.fromkeys(missing))
    else:
        before.unknown = missing
    return before


def latest(
    changes: Iterable[StoreChange], place_of: Callable[[StoreChange], Place]
) -> dict[Place, StoreChange]:
    """Return the last change of each row."""
    found: dict[Place, StoreChange] = {}
    for change in changes:
        found[place_of(change)] = change
    return found
