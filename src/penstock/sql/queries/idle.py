"""Waiting until queries on a cluster have nothing left to do, and readers see what they wrote."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Protocol

from penstock.model.topic_partition import TopicPartition

_PAUSE_S = 0.05


class Running(Protocol):
    """The methods of an application that the wait uses."""

    def run_until_idle(self, timeout: str) -> bool:
        """Process all present records; return False if the time was not enough."""

    def lag(self) -> Mapping[TopicPartition, int]:
        """Return how many records of each source partition wait."""


class Offsets(Protocol):
    """The methods of the cluster that the wait uses."""

    def end_offsets(
        self, partitions: Collection[TopicPartition], *, committed: bool = False
    ) -> Mapping[TopicPartition, int]:
        """Return the offset after the last record; ``committed`` stops at open transactions."""


def wait_until_idle(
    applications: Collection[Running],
    offsets: Offsets,
    written: Collection[TopicPartition],
    timeout_s: float,
) -> bool:
    """Wait until no application has input left; return False if the time was not enough.

    What one query writes is the input of another, so all must be idle twice in a row. A commit
    returns before the broker has marked its records as committed: until then neither the next
    query nor a reader sees them. A busy broker takes longer for that than two rounds.

    Args:
        written: the partitions that the applications write to.
    """
    deadline = time.monotonic() + timeout_s
    idle_rounds = 0
    while idle_rounds < 2:
        left = max(deadline - time.monotonic(), 0.0)
        if not all(each.run_until_idle(f"{int(left * 1000)}ms") for each in applications):
            return False
        is_done = not any(any(each.lag().values()) for each in applications)
        if is_done and _is_committed(offsets, written):
            idle_rounds += 1
        elif time.monotonic() > deadline:
            return False
        else:
            idle_rounds = 0
        time.sleep(_PAUSE_S)
    return True


def _is_committed(offsets: Offsets, written: Collection[TopicPartition]) -> bool:
    return offsets.end_offsets(written) == offsets.end_offsets(written, committed=True)
