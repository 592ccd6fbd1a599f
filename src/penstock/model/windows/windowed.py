"""A window of time, and a key in a window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from penstock.errors import InvalidArgumentError
from penstock.model.time.duration import MAX_LONG

K = TypeVar("K")


def window_end(start: int, size_ms: int) -> int:
    """Return the end of a time window, which is at most the last time that Kafka has."""
    return min(start + size_ms, MAX_LONG)


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A span of event time in milliseconds.

    Time windows exclude ``end``, session and sliding windows include it.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start < 0:
            raise InvalidArgumentError("bad-window", f"window start {self.start} is negative")
        if self.end < self.start:
            raise InvalidArgumentError(
                "bad-window", f"window end {self.end} is before its start {self.start}"
            )

    @property
    def start_time(self) -> datetime:
        return datetime.fromtimestamp(self.start / 1000, UTC)

    @property
    def end_time(self) -> datetime:
        return datetime.fromtimestamp(self.end / 1000, UTC)


@dataclass(frozen=True, slots=True)
class Windowed(Generic[K]):
    """A key in a window: the key of every windowed aggregation's result."""

    key: K
    window: Window

    @property
    def start(self) -> int:
        return self.window.start

    @property
    def end(self) -> int:
        return self.window.end

    def __str__(self) -> str:
        return f"[{self.key}@{self.window.start}/{self.window.end}]"
