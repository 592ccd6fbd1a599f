"""Which sliding windows a record belongs to or makes, and which of them are closed."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.rules.drop_reasons import NULL_KEY_OR_VALUE
from penstock.model.rules.null_rule import NullRule

SLIDING_NULLS = NullRule(NULL_KEY_OR_VALUE)


@dataclass(frozen=True, slots=True)
class SlidingRule:
    """One window for each different set of records that are at most ``difference_ms`` apart.

    A window contains its start and its end. A record at time ``t`` makes two windows: its left
    window ends at ``t``, and its right window starts at ``t + 1``. The right window exists only if
    there are records in it.
    """

    difference_ms: int
    grace_ms: int

    def close_time(self, stream_time: int) -> int:
        """Return the time before which windows that ended are closed."""
        return stream_time - self.grace_ms

    def end(self, start: int) -> int:
        """Return the end of the window that starts there."""
        return start + self.difference_ms

    def is_open(self, start: int, close_time: int) -> bool:
        """Tell whether the window that starts there still takes records.

        The last window that contains a record starts at the record's own timestamp. If that one is
        closed, all of them are.
        """
        return self.end(start) >= close_time

    def left_start(self, timestamp: int) -> int:
        """Return the start of a record's left window; it may be before 0."""
        return timestamp - self.difference_ms

    def right_start(self, timestamp: int) -> int:
        """Return the start of a record's right window."""
        return timestamp + 1

    def is_early(self, timestamp: int) -> bool:
        """Tell whether the left window would start before 0; then the window from 0 on is used."""
        return self.left_start(timestamp) < 0

    def neighbours(self, timestamp: int) -> tuple[int, int]:
        """Return the first and the last start of windows that a record may change or need."""
        return max(0, timestamp - 2 * self.difference_ms), self.right_start(timestamp)

    def has_left_partner(self, timestamp: int, previous: int | None) -> bool:
        """Tell whether the record before this one is in its left window."""
        return previous is not None and previous >= self.left_start(timestamp)

    def reaches(self, start: int, timestamp: int) -> bool:
        """Tell whether the window that starts there ends at a record or after it."""
        return self.end(start) >= timestamp

    def closed_starts(self, close_time: int, last_close_time: int | None) -> range:
        """Return the starts of windows that have closed since the last time, if there was one."""
        first = 0 if last_close_time is None else max(0, self.left_start(last_close_time))
        return range(first, self.left_start(close_time))
