"""How far a store has seen its input, and how far it has to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Position:
    """By source topic and partition: the offset of the last record that is part of the answer.

    A batch is committed as a whole, behind repartition topics, too. So a position names source
    topics only, for every store: what a producer was told by Kafka can be compared with it.
    """

    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @staticmethod
    def empty() -> Position:
        return Position()

    @staticmethod
    def from_next_offsets(positions: Mapping[tuple[str, int], int]) -> Position:
        """Return the position before which all these next offsets lie."""
        offsets: dict[str, dict[int, int]] = {}
        for (topic, partition), after in positions.items():
            if after > 0:
                offsets.setdefault(topic, {})[partition] = after - 1
        return Position(offsets)

    def with_component(self, topic: str, partition: int, offset: int) -> Position:
        """Return this position with one partition at least at an offset."""
        of_topic = dict(self.offsets.get(topic, {}))
        of_topic[partition] = max(offset, of_topic.get(partition, -1))
        return Position({**self.offsets, topic: of_topic})

    def merge(self, other: Position) -> Position:
        """Return the position that is at least as far as both."""
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
        """Whether everything that the other has seen is part of this one."""
        return all(
            self.offsets.get(topic, {}).get(partition, -1) >= offset
            for topic, of_topic in other.offsets.items()
            for partition, offset in of_topic.items()
        )


@dataclass(frozen=True, slots=True)
class PositionBound:
    """The least that an answer has to contain; a store that is not there yet does not answer."""

    position: Position = field(default_factory=Position)

    @staticmethod
    def unbounded() -> PositionBound:
        return PositionBound()

    @staticmethod
    def at(position: Position) -> PositionBound:
        """Demand a position: of records that were just written, say, to read one's own writes."""
        return PositionBound(position)

    @property
    def is_unbounded(self) -> bool:
        return not self.position.offsets
