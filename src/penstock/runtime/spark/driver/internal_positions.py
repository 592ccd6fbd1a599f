"""Repartition topics as the driver sees them: how far each is written, and how far processed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.purge import Purge
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.exchange.stage_request import Range, Report, Skips


class InternalPositions:
    """Keeps the positions and ends of repartition topics, from the reports of stages.

    Args:
        real: returns the name in Kafka of a topic of the graph.
        positions: the committed offsets; a topic without one was never read.
        committed: whether records of open transactions are left out.
    """

    def __init__(
        self,
        plan: Plan,
        admin: Admin,
        real: Callable[[str], str],
        positions: Mapping[TopicPartition, int],
        skips: Mapping[TopicPartition, Skips],
        purge_interval_s: float,
        *,
        committed: bool = True,
    ) -> None:
        self._plan = plan
        self._admin = admin
        self._committed = committed
        self._real = real
        parts = [part for stage in range(plan.stages) for part in plan.internal_of(stage)]
        self._positions = {part: positions.get(part, 0) for part in parts}
        self._ends = dict(self._positions)
        self.skips: dict[TopicPartition, Skips] = {
            part: of for part, of in skips.items() if part in self._positions
        }
        self._purge = Purge(admin, purge_interval_s)

    def ranges(self, stage: int, partitions: Collection[int]) -> dict[TopicPartition, Range]:
        """Return the ranges of repartition topics that a stage has to read."""
        return {
            part: (self._positions[part], max(self._ends[part], self._positions[part]))
            for part in self._plan.internal_of(stage)
            if part[1] in partitions
        }

    def skips_of(self, parts: Collection[TopicPartition]) -> dict[TopicPartition, Skips]:
        return {part: of for part, of in self.skips.items() if part in parts}

    def begin(self) -> None:
        """Compare the positions with the topics, before anything is processed."""
        if not self._positions:
            return
        found = self.written()
        begins = self._admin.begin_offsets([self.in_kafka(part) for part in self._positions])
        for part, at in self._positions.items():
            # Records before the first offset were purged, or the topic was reset.
            self._positions[part] = min(max(at, begins[self.in_kafka(part)]), found[part])
        # A topic that was created again may end before the position that was committed.
        self._ends.update(found)

    def written(self) -> dict[TopicPartition, int]:
        """Ask Kafka for the ends, because only Kafka knows what failed attempts have written."""
        if not self._positions:
            return {}
        parts = {self.in_kafka(part): part for part in self._positions}
        found = self._admin.end_offsets(list(parts), committed=self._committed)
        return {parts[real]: end for real, end in found.items()}

    def refresh(self, written: Mapping[TopicPartition, int]) -> None:
        """Take the ends over that Kafka has told."""
        for part, end in written.items():
            self._ends[part] = max(self._ends[part], end)

    def in_kafka(self, part: TopicPartition) -> TopicPartition:
        """Return a partition under the name that its topic has in Kafka."""
        return self._real(part[0]), part[1]

    def advance(self, reports: Iterable[Report]) -> None:
        """Update the positions and ends from what tasks have read and written."""
        for report in reports:
            for part, at in report.positions.items():
                if part in self._positions:
                    self._positions[part] = at
                    self.skips.pop(part, None)
            self.skips.update(report.skips)
            for part, end in report.written.items():
                if part in self._ends:
                    self._ends[part] = max(self._ends[part], end)

    def has_leftover(
        self, partitions: Collection[int] | None = None, stage: int | None = None
    ) -> bool:
        """Tell whether repartition topics have records that no stage has processed yet.

        Args:
            partitions: look only at partitions with these numbers.
            stage: look only at what this stage reads.
        """
        parts = self._positions if stage is None else self._plan.internal_of(stage)
        return any(
            self._ends[part] > self._positions[part]
            for part in parts
            if partitions is None or part[1] in partitions
        )

    def is_internal(self, part: TopicPartition) -> bool:
        return part in self._positions

    def committed(self) -> dict[TopicPartition, int]:
        """Return the positions under the topics' names in Kafka."""
        return {(self._real(topic), number): at for (topic, number), at in self._positions.items()}

    def purge(self) -> None:
        """Delete processed records from the topics, at most once per interval."""
        if self._positions and self._purge.is_due:
            self._purge.delete({part: at for part, at in self.committed().items() if at > 0})
