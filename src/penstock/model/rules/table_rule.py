"""What a table decides about a record of its topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from penstock.model.rules.drop_reasons import NULL_KEY
from penstock.model.rules.null_rule import NullRule

K = TypeVar("K")
R = TypeVar("R")

#: A table takes tombstones: a record without a value deletes the row of its key.
TABLE_NULLS = NullRule(NULL_KEY, takes_null_value=True)

#: A record without a key belongs to no partition, so it cannot go to a repartition topic.
REPARTITION_NULLS = NullRule(NULL_KEY, takes_null_value=True)


class LastRows(dict[K, R]):
    """The row of each key: the last record that arrived, whatever the timestamps say.

    The keys are in the order of their last records. A record cache sends its rows in this order.
    Only a versioned store files records by timestamp. ``Groups`` of the column executors finds the
    same rows and the same order in arrays.
    """

    __slots__ = ()

    def put(self, key: K, row: R) -> None:
        """Take a record as the row of its key. A key that was there before moves to the end."""
        self.pop(key, None)
        self[key] = row


@dataclass(frozen=True, slots=True)
class FilterRule:
    """Which changes a filtered table sends, given which of their values have passed the predicate.

    A row that fails becomes a tombstone. If old values are known, and the old row failed, too,
    nothing has changed. A versioned table needs the tombstone nevertheless, as a version of the
    row.
    """

    knows_old: bool
    is_versioned: bool

    @property
    def leaves_out(self) -> bool:
        """Whether a change from nothing to nothing is left out."""
        return self.knows_old and not self.is_versioned

    def sends(self, has_new: bool, has_old: bool) -> bool:
        """Tell whether a change is stored and sent."""
        return has_new or has_old or not self.leaves_out


def is_change(has_new: bool, had_old: bool) -> bool:
    """Tell whether a row changed at all: from nothing to nothing is not a change.

    A key that came and went between two flushes of a cache was never in the store, and later nodes
    have never seen it. So its tombstone is neither stored nor forwarded.
    """
    return has_new or had_old
