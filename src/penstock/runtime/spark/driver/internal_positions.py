"""Repartition topics as the driver sees them: how far each is written, and how far processed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

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
    """

    def __init__(
        self,
        plan: Plan,
        admin: Admin,
        real: Callable[[str], str],
        positions: Mapping[TopicPartition, int],
        skips: Mapping[TopicPartition, Skips],
        purge_interval_s: float,
    ) -> None:
        self._plan = plan
        self._admin = admin
        self._real = real
        parts = [part for stage in range(plan.stages) for part in plan.internal_of(stage)]
        self._positions = {part: positions.get(part, 0) for part in parts}
        self._ends = dict(self._positions)
        self.skips: dict[TopicPartition, Skips] = {
            part: of for part, of in skips.items() if part in self._positions
        }
        self._purge = Purge(admin, purge_interval_s)

    def ranges(self, stage: int) -> dict[TopicPartition, Range]:
        """Return the ranges of repartition topics that a stage has to read."""
        return {
            part: (self._positions[part], max(self._ends[part], self._positions[part]))
            for part in self._plan.internal_of(stage)
        }

    def refresh(self) -> None:
        """Ask Kafka for the ends, because only Kafka knows what failed attempts have written."""
        if not self._positions:
            return
        found = self._admin.end_offsets([(self._real(t), n) for t, n in self._positions])
        begins = self._admin.begin_offsets([(self._real(t), n) for t, n in self._positions])
        for topic, number in self._positions:
            real = self._real(topic), number
            self._ends[topic, number] = found[real]
            # Records before the first offset were purged, or the topic was reset.
            at = max(self._positions[topic, number], begins[real])
            self._positions[topic, number] = min(at, found[real])

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

    @property
    def has_leftover(self) -> bool:
        """Whether repartition topics have records that no stage has processed yet."""
        return any(self._ends[part] > at for part, at in self._positions.items())

    def committed(self) -> dict[TopicPartition, int]:
        """Return the positions under the topics' names in Kafka."""
        return {(self._real(topic), number): at for (topic, number), at in self._positions.items()}

    def purge(self) -> None:
        """Delete processed records from the topics, at most once per interval."""
        if self._positions and self._purge.is_due:
            self._purge.delete({part: at for part, at in self.committed().items() if at > 0})
