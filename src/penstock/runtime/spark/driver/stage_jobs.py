"""How the stages of an application reach its slots: a Spark job of its own for each stage.

Applications of a pool share their jobs instead: ``pool/pooled_jobs.py``.
"""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import SparkSession

from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.driver.placement import Placement
from penstock.runtime.spark.exchange.stage_request import Application, Outcome, StageRequest
from penstock.runtime.spark.worker.slot_task import SlotTask


class StageJobs(Protocol):
    """Runs stages of one application on all its slots."""

    def run(self, kind: str, request: StageRequest, title: str) -> list[Outcome]:
        """Run a stage, and return one outcome per slot; what Spark itself meets is raised.

        Args:
            kind: ``run``, or ``warm-up``, which only makes the slots ready.
            title: what Spark's pages show for the job.
        """

    def to_move(self, slots: int) -> int | None:
        """Return a slot that should go to another executor; None if all is well."""

    def cancel(self) -> None:
        """End the stage that is under way, which has taken too long."""

    def close(self) -> None:
        """Let go of what this run of the application has in Spark."""


class OwnJobs:
    """One Spark job per stage, with one task per slot."""

    def __init__(
        self, spark: SparkSession, application: Application, placement: Placement, secret: bytes
    ) -> None:
        self._context = spark.sparkContext
        self._application = application
        self._placement = placement
        self._secret = secret
        self._group = f"penstock-{application.key}"
        self._broadcast = self._context.broadcast(packed(application))

    def run(self, kind: str, request: StageRequest, title: str) -> list[Outcome]:
        application, placement = self._application, self._placement
        self._context.setJobGroup(self._group, title)
        task = SlotTask(
            broadcast=self._broadcast, key=application.key, application_id=application.id,
            state_dir=application.state_dir, generation=application.generation,
            secret=self._secret, endpoints=dict(placement.endpoints), kind=kind, request=request,
        )  # fmt: skip
        outcomes: list[Outcome] = placement.places(request.slots).mapPartitions(task).collect()
        return outcomes

    def to_move(self, slots: int) -> int | None:
        return self._placement.to_move(slots)

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)

    def close(self) -> None:
        self._broadcast.unpersist()
