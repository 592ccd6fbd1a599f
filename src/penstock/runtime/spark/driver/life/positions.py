"""Where reading continues when an instance begins to lead."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config import (
    APPLICATION_ID,
    AUTO_OFFSET_RESET,
    PROCESSING_GUARANTEE,
    REPARTITION_PURGE_INTERVAL_MS,
    StreamsConfig,
)
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import isolation_level
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.start_offsets import first_offsets
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.plan import Plan


class Positions:
    """Finds where each input of a plan is read on, from the group, the batch log and the topics."""

    def __init__(self, plan: Plan, config: StreamsConfig, admin: Admin) -> None:
        self.plan = plan
        self._config = config
        self._admin = admin
        self._id: str = config[APPLICATION_ID]

    @property
    def reads_committed(self) -> bool:
        return isolation_level(self._config) == "read_committed"

    def real(self, topic: str) -> str:
        """Return the name that Kafka knows a topic of the graph by."""
        return f"{self._id}-{topic}" if self.plan.is_internal(topic) else topic

    def known(self, state: LogState) -> dict[TopicPartition, int]:
        """Return committed offsets by the graph's names: the group's, else those of the markers.

        Without transactions, a marker is written a moment before the group's offsets. If the group
        is still where the marker's batch began, that batch is done nevertheless.
        """
        group = self._admin.group_offsets(self._id)
        topics = {topic for run in self.plan.runs for topic in run.topics}
        noted, began = state.positions(), state.began()
        of_group = {
            (topic, number): group[self.real(topic), number]
            for topic in topics
            for number in range(self.plan.partitions[topic])
            if (self.real(topic), number) in group
        }
        if self._config[PROCESSING_GUARANTEE] == "exactly_once_v2":
            # Both are committed together: an offset that differs was set by somebody.
            return {**noted, **of_group}
        done = {part: noted[part] for part, at in of_group.items() if began.get(part) == at}
        return {**noted, **of_group, **done}

    def internal(
        self, state: LogState, committed: Mapping[TopicPartition, int]
    ) -> InternalPositions:
        """Return where repartition topics are read on."""
        purge_s = self._config[REPARTITION_PURGE_INTERVAL_MS] / 1000
        noted = state.positions()
        skips = {p: of for p, of in state.skips().items() if noted.get(p) == committed.get(p)}
        return InternalPositions(
            self.plan, self._admin, self.real, committed, skips, purge_s,
            committed=self.reads_committed,
        )  # fmt: skip

    def first(self, committed: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return where the first batch begins; ``auto.offset.reset`` replaces deleted offsets."""
        plan = self.plan
        parts = [
            (topic, number)
            for topic in plan.external_topics
            for number in range(plan.partitions[topic])
        ]
        return first_offsets(
            parts, committed, plan.graph, self._admin, self._config[AUTO_OFFSET_RESET],
            read_committed=self.reads_committed,
        )  # fmt: skip
