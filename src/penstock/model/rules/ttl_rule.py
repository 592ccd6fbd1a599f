"""When a row with a time to live expires."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TtlRule:
    """The time to live of rows. A clock, which may be stream time, says what time it is."""

    ttl_ms: int

    def expiry(self, timestamp: int) -> int:
        """Return the time at which a row of this timestamp expires."""
        return timestamp + self.ttl_ms

    def is_alive(self, timestamp: int, now: int) -> bool:
        """Tell whether a row of this timestamp has not expired yet."""
        return self.expiry(timestamp) > now
