"""Brings the stages of an application to its slots, with one Spark job for each stage.

Applications of a pool share their jobs instead: ``pool/pooled_jobs.py``.
"""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import SparkSession

from penstock.config import (
    ACCEPTABLE_RECOVERY_LAG,
    MAX_WARMUP_REPLICAS,
    NUM_STANDBY_REPLICAS,
    RACK_AWARE_TAGS,
    StreamsConfig,
)
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.driver.placement import Placement, is_local
from penstock.runtime.spark.driver.standbys import Standbys
from penstock.runtime.spark.exchange.stage_request import Application, Outcome, StageRequest
from penstock.runtime.spark.worker.slot_task import SlotTask


class StageJobs(Protocol):
    """Runs stages of one application on all its slots."""

    def run(self, kind: str, request: StageRequest, title: str) -> list[Outcome]:
        """Run a stage, and return one outcome per slot; raise errors of Spark itself.

        Args:
            kind: ``run``, or ``warm-up``, which only makes the slots ready.
            title: what Spark's pages show for the job.
        """

    def to_move(self, slots: int) -> int | None:
        """Return a slot that should move to another executor; None if there is none."""

    def standby_lags(self) -> dict[int, int | None]:
        """Return how far the copies of each slot on other executors are behind."""

    def cancel(self) -> None:
        """Cancel the current stage, which has taken too long."""

    def close(self) -> None:
        """Release what this run of the application uses in Spark."""


class OwnJobs:
    """One Spark job per stage, with one task per slot."""

    def __init__(
        self,
        spark: SparkSession,
        application: Application,
        placement: Placement,
        secret: bytes,
        listener: StandbyUpdateListener | None = None,
    ) -> None:
        self._context = spark.sparkContext
        self._application = application
        self._placement = placement
        self._secret = secret
        self._group = f"penstock-{application.key}"
        self._broadcast = self._context.broadcast(packed(application))
        self._config = StreamsConfig(application.config)
        self._slots = 0
        self._listener = listener
        self._standbys: Standbys | None = None

    def run(self, kind: str, request: StageRequest, title: str) -> list[Outcome]:
        application, placement = self._application, self._placement
        self._context.setJobGroup(self._group, title)
        task = SlotTask(
            broadcast=self._broadcast, key=application.key, application_id=application.id,
            state_dir=application.state_dir, generation=application.generation,
            secret=self._secret, endpoints=dict(placement.endpoints), kind=kind, request=request,
        )  # fmt: skip
        outcomes: list[Outcome] = placement.places(request.slots).mapPartitions(task).collect()
        self._keep_standbys(request.slots)
        return outcomes

    def _keep_standbys(self, slots: int) -> None:
        """Start to keep copies of running slots on other executors, if the user wants them."""
        self._slots = slots
        wants_any = self._config[NUM_STANDBY_REPLICAS] > 0 and self._has_state
        if not wants_any or self._standbys is not None:
            return
        if not is_local(self._context.getConf().get("spark.master")):
            self._standbys = self._new_standbys()

    def _new_standbys(self) -> Standbys:
        tags = self._config[RACK_AWARE_TAGS]
        return Standbys(
            self._context, self._application, self._broadcast, self._secret, self._placement,
            self._config[NUM_STANDBY_REPLICAS], lambda: self._slots, listener=self._listener,
            listed_tags=tags,
            most_extra=self._config[MAX_WARMUP_REPLICAS],
        )  # fmt: skip

    @property
    def _has_state(self) -> bool:
        return any(store.logging for store in self._application.plan.graph.stores.values())

    def to_move(self, slots: int) -> int | None:
        """Let a slot with state move only where a copy of it is warm, as Kafka Streams does."""
        moving = self._placement.to_move(slots)
        if moving is None or not self._has_state:
            return moving
        standbys = self._standbys = self._standbys or self._new_standbys()
        if standbys.is_warm(moving, self._config[ACCEPTABLE_RECOVERY_LAG]):
            return moving
        standbys.warm_up(moving, self._config[MAX_WARMUP_REPLICAS])
        return None

    def standby_lags(self) -> dict[int, int | None]:
        return {} if self._standbys is None else self._standbys.lags()

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)

    def close(self) -> None:
        if self._standbys is not None:
            self._standbys.close()
        self._broadcast.unpersist()
