"""What a slot writes into the batch log, inside its transaction, and what it reads there."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from penstock.errors import StreamsError, TaskMigratedError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.batch_log import (
    LOG_TIME_MS,
    PLAN_KEY,
    LogState,
    Marker,
    marker_key,
)
from penstock.runtime.spark.exchange.stage_request import Application, Report, StageRequest
from penstock.runtime.spark.worker.writer import Writer


def write_plan(writer: Writer, application: Application, request: StageRequest) -> None:
    """Write the plan of the whole batch.

    Every slot writes it. If other slots die before they commit, the next driver finds the plan
    beside this slot's markers and can finish the batch.
    """
    topic, key = application.batches_topic, PLAN_KEY.encode()
    writer.send(topic, key, request.plan, LOG_TIME_MS, (), 0, _own)


def write_marker(
    writer: Writer, application: Application, request: StageRequest, report: Report
) -> None:
    """Write that the task has committed this stage, with its next positions and its clocks."""
    assert report.clocks is not None
    marker = Marker(request.batch, report.clocks, report.positions, report.skips)
    key = marker_key(report.task, report.stage).encode()
    writer.send(application.batches_topic, key, marker.to_json(), LOG_TIME_MS, (), 0, _own)


def _own(error: Any, message: Any) -> None:
    """Do nothing about a delivery; the commit fails if a record did not arrive.

    Records without a delivery callback are the program's output, about which the production
    exception handler is asked. It must not skip a marker.
    """


def check_leader(application: Application, found: LogState) -> None:
    """Raise ``fenced`` if the batch log names another driver than the one of this slot."""
    newest = found.generation, found.run_id
    if newest != (application.generation, application.run_id):
        raise TaskMigratedError(
            "fenced",
            f"another driver leads application {application.id!r}: generation"
            f" {found.generation} of the batch log is newer than {application.generation}",
            fix="nothing to do if another instance was started; otherwise look for a second"
            " program with this application.id",
        )


def check_newest(number: int, request: StageRequest, found: LogState) -> None:
    """Raise ``stale-request`` if the batch log has a later batch than a request for this slot.

    A slot that has just started has answered nothing, so its own memory cannot tell. The markers
    of the old batch are overwritten by then, and it would run a second time.
    """
    if found.plan is not None and found.plan.batch > request.batch:
        raise stale_request(number, request, f"batch {found.plan.batch}")


def check_open(number: int, *, is_closed: bool) -> None:
    """Raise ``slot-unreachable`` if a slot was closed while a request waited for it."""
    if is_closed:
        raise StreamsError(
            "slot-unreachable",
            f"slot {number} was closed before the request began",
            fix="nothing to do: the batch runs again in the slot's next stream thread",
        )


def stale_request(number: int, request: StageRequest, newest: str) -> StreamsError:
    return StreamsError(
        "stale-request",
        f"slot {number} was asked for batch {request.batch} stage {request.stage}, but has gone"
        f" on to {newest}",
        fix="nothing to do: an old attempt of Spark's woke up late",
    )


def newest_step(found: LogState, tasks: Container[TaskId]) -> tuple[int, int]:
    """Return the newest batch and stage that any of these tasks has committed."""
    markers = found.markers.items()
    steps = [(marker.batch, stage) for (task, stage), marker in markers if task in tasks]
    return max(steps, default=(-1, -1))
