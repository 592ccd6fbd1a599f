"""An instance that leads: its generation, its batch log, and the batches."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.logs import is_fault
from penstock.runtime.spark.driver.batch_runner import BatchRunner
from penstock.runtime.spark.driver.failures import fenced
from penstock.runtime.spark.driver.instances.fencing import fence_slot, fence_slots
from penstock.runtime.spark.driver.instances.instance import Instance
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.stage_request import Application

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fence:
    """Aborts open transactions of an application, unless another instance leads by now."""

    application: Application
    instance: Instance

    def all(self, state: LogState) -> None:
        """Abort the open transactions of all slots that the batch log has ever named.

        Raises:
            StreamsError: ``fenced``, if another instance leads: its transactions must not be
                aborted.
        """
        self._check_generation()
        fence_slots(self.application, state)

    def one(self, slot: int) -> None:
        """Abort the open transaction of one slot, whose batch has failed."""
        # First: if another driver leads, its own producers must not be fenced.
        self._check_generation()
        fence_slot(self.application, slot)

    def _check_generation(self) -> None:
        newest = self.instance.log.generation
        if newest > self.application.generation:
            raise fenced(newest)


@dataclass(slots=True, kw_only=True)
class Leading:
    """What an instance has while it leads."""

    application: Application
    runner: BatchRunner
    admin: Admin
    #: Where the first batches of this run begin.
    begins_at: Mapping[TopicPartition, int]
    #: The result of the last call of ``lag``.
    last_lag: dict[TopicPartition, int] = field(default_factory=dict)

    def continue_from(self, former: Leading) -> None:
        """Continue the totals of an earlier lead of the same program."""
        self.runner.continue_from(former.runner.progress, former.runner.meter)
        self.last_lag = former.last_lag

    def lag(self) -> dict[TopicPartition, int]:
        """Return how many records of each source partition have not been processed yet."""
        plan = self.application.plan
        tables = [store.topic for store in plan.graph.global_stores.values()]
        parts = [
            (t, n) for t in [*plan.external_topics, *tables] for n in range(plan.partitions[t])
        ]
        # Up to the high watermark, also for a reader of committed records: what another program's
        # open transaction holds back is waiting to be processed, too.
        away = self.runner.away
        ends = self.admin.end_offsets([part for part in parts if part not in away])
        position = {**self.begins_at, **self.runner.progress.position}
        found = {part: max(end - position.get(part, 0), 0) for part, end in ends.items()}
        # Nobody can say more about a partition without a leader than what was known last.
        self.last_lag = {part: found.get(part, self.last_lag.get(part, 0)) for part in parts}
        return self.last_lag

    def pause(self, *, is_paused: bool) -> None:
        if is_paused:
            self.runner.is_paused.set()
        else:
            self.runner.is_paused.clear()

    def end(self, *, patience_s: float, keeps_slots: bool) -> None:
        """Wait for the current batches, then end."""
        self.runner.stop(patience_s)
        try:
            self.runner.close(keeps_slots=keeps_slots)
        except Exception as error:
            text = "slots of %s could not be released: %s"
            log.warning(text, self.application.id, error, exc_info=is_fault(error))
