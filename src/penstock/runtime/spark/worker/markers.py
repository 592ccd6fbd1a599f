"""What a slot writes into the batch log, inside its transaction, and what it reads there."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any

from penstock.errors import StreamsError, TaskMigratedError
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.batch_log import (
    GLOBAL_ENDS_KEY,
    LOG_TIME_MS,
    LogState,
    Marker,
    marker_key,
    offset_rows,
)
from penstock.runtime.spark.exchange.stage_request import Application, Report, StageRequest
from penstock.runtime.spark.worker.writer import Writer


def write_marker(
    writer: Writer, application: Application, request: StageRequest, report: Report
) -> None:
    """Write that the task has committed this stage, with its next positions and its clocks."""
    assert report.clocks is not None
    began = {part: request.ranges[part][0] for part in report.positions if part in request.ranges}
    marker = Marker(request.batch, report.clocks, report.positions, report.skips, began)
    key = marker_key(report.task, report.stage).encode()
    writer.send(application.batches_topic, key, marker.to_json(), LOG_TIME_MS, (), 0, _own)


def write_global_ends(
    writer: Writer, application: Application, ends: Mapping[TopicPartition, int]
) -> None:
    """Write that the dead letters of global records before these offsets are written."""
    data = json.dumps(offset_rows(ends)).encode()
    key = GLOBAL_ENDS_KEY.encode()
    writer.send(application.batches_topic, key, data, LOG_TIME_MS, (), 0, _own)


def letters_written(request: StageRequest, found: LogState) -> dict[TopicPartition, int]:
    """Return before which offsets the dead letters of global records are written.

    The slot may have committed letters whose report did not reach the driver.
    """
    starts = dict(request.global_start)
    for part, at in found.global_ends.items():
        # A topic that ends before that was created again.
        if at <= request.global_ends.get(part, 0):
            starts[part] = max(starts.get(part, 0), at)
    return starts


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


def check_newest(
    number: int, request: StageRequest, found: LogState, tasks: Container[TaskId]
) -> None:
    """Raise ``stale-request`` if a task of the slot has committed a later batch than this one.

    A slot that has just started has answered nothing, so its own memory cannot tell. The markers
    of the old batch are overwritten by then, and it would run a second time.
    """
    newest, _ = newest_step(found, tasks)
    if newest > request.batch:
        raise stale_request(number, request, f"batch {newest}")


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
