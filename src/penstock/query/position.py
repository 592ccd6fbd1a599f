"""Positions: how much of its input a store has seen, and how much an answer must contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Position:
    """The offset of the last record that is part of an answer, by source topic and partition.

    A batch commits all sub-topologies together, also those behind repartition topics. So the
    position of every store names source topics only, and a program can compare it with the offsets
    that Kafka returned to a producer.
    """

    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @staticmethod
    def empty() -> Position:
        return Position()

    @staticmethod
    def from_next_offsets(positions: Mapping[tuple[str, int], int]) -> Position:
        """Return the position of a reader whose next records have these offsets."""
        offsets: dict[str, dict[int, int]] = {}
        for (topic, partition), after in positions.items():
            if after > 0:
                offsets.setdefault(topic, {})[partition] = after - 1
        return Position(offsets)

    def with_component(self, topic: str, partition: int, offset: int) -> Position:
        """Return this position with one partition at this offset, unless it is further already."""
        of_topic = dict(self.offsets.get(topic, {}))
        of_topic[partition] = max(offset, of_topic.get(partition, -1))
        return Position({**self.offsets, topic: of_topic})

    def merge(self, other: Position) -> Position:
        """Return the position that has, for each partition, the larger offset of the two."""
        merged = self
        for topic, of_topic in other.offsets.items():
            for partition, offset in of_topic.items():
                merged = merged.with_component(topic, partition, offset)
        return merged

    def topics(self) -> frozenset[str]:
        return frozenset(self.offsets)

    def partition_positions(self, topic: str) -> Mapping[int, int]:
        return dict(self.offsets.get(topic, {}))

    def dominates(self, other: Position) -> bool:
        """Return whether this position contains everything that the other one has seen."""
        return all(
            self.offsets.get(topic, {}).get(partition, -1) >= offset
            for topic, of_topic in other.offsets.items()
            for partition, offset in of_topic.items()
        )


@dataclass(frozen=True, slots=True)
class PositionBound:
    """The position that an answer must have reached; a store that is behind it does not answer."""

    position: Position = field(default_factory=Position)

    @staticmethod
    def unbounded() -> PositionBound:
        return PositionBound()

    @staticmethod
    def at(position: Position) -> PositionBound:
        """Require a position, such as that of records just written, to read one's own writes."""
        return PositionBound(position)

    @property
    def is_unbounded(self) -> bool:
        return not self.position.offsets
