"""Up to where lanes may read, while several applications come to a cut together."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.stage_request import Range

#: How long a batch that may read on is waited for.
_PATIENCE_S = 2.0
_Offsets = Mapping[TopicPartition, int]


class Stops:
    """Offsets of source partitions that no lane reads beyond, until they are lifted.

    Args:
        positions: where the tasks are. The lanes change it under the same lock.
        changed: the lock of everything that lanes share, such as ``Gate.changed``.
    """

    def __init__(
        self, positions: Mapping[TopicPartition, int], changed: threading.Condition
    ) -> None:
        self._positions = positions
        self._changed = changed
        self._stops: dict[TopicPartition, int] = {}
        #: By lane, the ends of its newest batch, which may be under way.
        self._planned: dict[int, dict[TopicPartition, int]] = {}
        #: Lanes whose batch under way may read beyond these ends.
        self._reading_on: set[int] = set()
        self._is_freezing = False

    @property
    def topics(self) -> frozenset[str]:
        """The source topics of the application."""
        return frozenset(topic for topic, _ in self._positions)

    # For lanes

    def within(self, ends: _Offsets) -> dict[TopicPartition, int]:
        """Return the ends of partitions as far as they may be read."""
        with self._changed:
            stops = self._stops
            return {part: min(end, stops.get(part, end)) for part, end in ends.items()}

    def admit(
        self, lane: int, ranges: Mapping[TopicPartition, Range]
    ) -> dict[TopicPartition, Range]:
        """Return what a lane may read of a batch that it has planned; it reads that now.

        A stop may have come while the lane was planning.
        """
        with self._changed:
            stops = self._stops
            found = {
                part: (start, max(start, min(end, stops.get(part, end))))
                for part, (start, end) in ranges.items()
            }
            self._planned[lane] = {part: end for part, (_, end) in found.items()}
            self._reading_on.discard(lane)
            return found

    def may_read_on(self, lane: int) -> bool:
        """Tell whether a batch may take records behind its ends, and note it until ``settle``."""
        with self._changed:
            if self._stops or self._is_freezing:
                return False
            self._reading_on.add(lane)
            return True

    def settle(self, lane: int) -> None:
        """Note that the batch of a lane has ended, and where it has ended."""
        with self._changed:
            self._reading_on.discard(lane)
            self._changed.notify_all()

    # For the one who takes the cut

    def freeze(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        """Stop all partitions of topics where the lanes are now; return these offsets.

        They include the batches that are under way. Those that may read on are waited for; if one
        hangs, the offsets are not reached, and there is no cut.
        """
        with self._changed:
            self._is_freezing = True
            self._changed.wait_for(lambda: not self._reading_on, _PATIENCE_S)
            self._is_freezing = False
            at = {part: at for part, at in self._positions.items() if part[0] in topics}
            for planned in self._planned.values():
                for part, end in planned.items():
                    if part in at:
                        at[part] = max(at[part], end)
            self._stops |= at
            return at

    def move(self, stops: _Offsets) -> None:
        """Move stops forward: to offsets that are not before those where lanes are."""
        with self._changed:
            self._stops |= stops
            self._changed.notify_all()

    def wait(self, timeout_s: float) -> bool:
        """Wait until all tasks are exactly at the stops; false if they are not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.are_reached, timeout_s)

    @property
    def are_reached(self) -> bool:
        """Whether every source partition has a stop, and its task is exactly there."""
        return self._stops == dict(self._positions)

    def lift(self) -> None:
        """Let the lanes read on."""
        with self._changed:
            self._stops.clear()
            self._changed.notify_all()
