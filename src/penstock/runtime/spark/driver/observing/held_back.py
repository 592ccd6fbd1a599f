"""Finds inputs whose records an open transaction of another program holds back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Protocol

from penstock.model.topic_partition import TopicPartition


class Planned(Protocol):
    """Whoever plans batches, and so knows where reading has come to."""

    def held_back(self) -> Mapping[TopicPartition, int]: ...


class HeldBack:
    """Compares the inputs at intervals: one that waits twice at the same place is held back."""

    def __init__(self, planner: Planned) -> None:
        self._planner = planner
        self._looked, self._found = time.monotonic(), dict[TopicPartition, int]()

    def look(self, now: float) -> str | None:
        """Name the inputs that wait for the same open transaction as at the last look."""
        before, self._found = self._found, dict(self._planner.held_back())
        self._looked = now
        same = sorted(part for part, end in self._found.items() if before.get(part) == end)
        named = ", ".join(f"{topic!r} partition {number}" for topic, number in same)
        text = f"an open transaction of another program holds back records of {named}"
        return text if same else None

    def is_due(self, now: float, interval_s: float) -> bool:
        return now - self._looked >= interval_s
