"""When a suppressed change is let through. The record and the column executor call it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SuppressRule:
    """Which changes wait, and which of them are due.

    A change waits from its buffer time on: the end of its window, or its own timestamp. It is due
    when stream time has reached its buffer time plus ``wait_ms``. Nothing was sent for a window
    before it closes, so the tombstone of a final result need not be sent.
    """

    wait_ms: int
    until_window_closes: bool
    max_records: int | None = None
    max_bytes: int | None = None
    drops_tombstones: bool = False

    @overload
    def last_due(self, stream_time: int) -> int: ...
    @overload
    def last_due(self, stream_time: Times) -> Times: ...
    def last_due(self, stream_time: Any) -> Any:
        """Return the latest buffer time that is due at a stream time, or at each of an array."""
        return stream_time - self.wait_ms

    def is_too_full(self, records: int, size_bytes: int) -> bool:
        """Tell whether the buffer holds more than it may."""
        has_too_many = self.max_records is not None and records > self.max_records
        return has_too_many or (self.max_bytes is not None and size_bytes > self.max_bytes)

    def sends(self, has_value: bool) -> bool:
        """Tell whether a change that is due is sent."""
        return has_value or not self.drops_tombstones
