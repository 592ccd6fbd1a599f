"""Decides which windows a record falls into, and which of them are closed.

The arithmetic takes a number or an array of numbers, so the record executor and the column executor
(``window_aggregate`` and ``window_aggregate_columns`` in the kernel) run the same lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

if TYPE_CHECKING:
    # A task that runs record at a time does not need numpy, which takes a while to import.
    import numpy as np
    from numpy.typing import NDArray

    Times: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WindowRule:
    """Windows of one size. The first starts at ``origin_ms``, each other ``advance_ms`` later.

    A window contains its start, but not its end. A record that misses several closed windows counts
    as several drops.
    """

    size_ms: int
    advance_ms: int
    grace_ms: int
    origin_ms: int = 0

    def starts(self, timestamp: int) -> range:
        """Return the start of every window that contains a timestamp, earliest first.

        Ranges are equal when they stand for the same windows, whatever their bounds.
        """
        return range(self.first_start(timestamp), timestamp + 1, self.advance_ms)

    @overload
    def first_start(self, timestamp: int) -> int: ...
    @overload
    def first_start(self, timestamp: Times) -> Times: ...
    def first_start(self, timestamp: Any) -> Any:
        """Return the start of the earliest window that contains a timestamp from the origin on."""
        advance_ms = self.advance_ms
        behind = timestamp - self.origin_ms - self.size_ms + advance_ms
        first = behind // advance_ms * advance_ms
        # No window starts before the origin. Unlike ``max`` this takes arrays, too.
        return first * (first > 0) + self.origin_ms

    @overload
    def count(self, timestamp: int, first_start: int) -> int: ...
    @overload
    def count(self, timestamp: Times, first_start: Times) -> Times: ...
    def count(self, timestamp: Any, first_start: Any) -> Any:
        """Return how many windows contain a timestamp, given the start of the first."""
        return (timestamp - first_start) // self.advance_ms + 1

    @overload
    def is_open(self, start: int, stream_time: int) -> bool: ...
    @overload
    def is_open(self, start: Times, stream_time: Times) -> NDArray[np.bool_]: ...
    def is_open(self, start: Any, stream_time: Any) -> Any:
        """Tell whether the window that starts there takes records: until its end plus grace."""
        return start + self.size_ms > stream_time - self.grace_ms

    def close_time(self, stream_time: int) -> int:
        """Return the time up to which windows that ended are closed."""
        return stream_time - self.grace_ms

    def closed_starts(self, close_time: int, last_close_time: int | None) -> range:
        """Return the starts of windows that have closed since the last time, if there was one.

        The range is empty if no window has closed. Not every time in it is the start of a window.
        """
        last = close_time - self.size_ms
        if last < 0 or last_close_time is None:
            return range(last + 1)
        first = max(0, last_close_time - self.size_ms) + 1
        if self.starts(last) == self.starts(first - 1):
            return range(0)
        return range(first, last + 1)
