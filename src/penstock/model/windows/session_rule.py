"""Which sessions a record belongs to, and which of them are closed."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.rules.drop_reasons import NULL_KEY
from penstock.model.rules.null_rule import NullRule

#: A record without a value belongs to a session like any other.
SESSION_NULLS = NullRule(NULL_KEY, takes_null_value=True)


@dataclass(frozen=True, slots=True)
class SessionRule:
    """Sessions end after a gap without records. A session contains its start and its end.

    The result of a session has its end as timestamp.
    """

    gap_ms: int
    grace_ms: int

    def close_time(self, stream_time: int) -> int:
        """Return the time before which sessions that ended are closed."""
        return stream_time - self.gap_ms - self.grace_ms

    def is_open(self, end: int, close_time: int) -> bool:
        """Tell whether a session that ends there still takes records."""
        return end >= close_time

    def neighbours(self, timestamp: int) -> tuple[int, int]:
        """Return the earliest end and the latest start of sessions that a record belongs to."""
        return max(0, timestamp - self.gap_ms), timestamp + self.gap_ms

    def merged(self, start: int, end: int, other_start: int, other_end: int) -> tuple[int, int]:
        """Return start and end of the session that this one and another become."""
        return min(start, other_start), max(end, other_end)

    def replaces(self, start: int, end: int) -> bool:
        """Tell whether a new session takes the place of those that it was merged from.

        A session that starts and ends at the same time was merged at most with the session of that
        very time. Both have the same key in the store, so the write overwrites the old one.
        """
        return start != end

    def closed_ends(self, close_time: int, last_close_time: int) -> range:
        """Return the ends of sessions that have closed since the last time."""
        return range(max(0, last_close_time), close_time)
