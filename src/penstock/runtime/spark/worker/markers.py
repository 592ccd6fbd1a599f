"""Markers: a task's proof, inside its transaction, that its part of a batch is done.

They live in the application's batch log, a compacted topic; the driver's side is ``batch_log``.
"""

from __future__ import annotations

import json
from typing import Any

from penstock.runtime.spark.exchange.batch_log import PLAN_KEY, BatchPlan
from penstock.runtime.spark.exchange.stage_request import Application, Report, StageRequest
from penstock.runtime.spark.worker.output import Writer


def write_plan(writer: Writer, application: Application, order: StageRequest) -> None:
    """Writes what the whole batch is: other slots may die before they commit their part."""
    plan = BatchPlan(
        order.batch,
        {part: start for part, (start, _) in order.ranges.items()},
        {part: end for part, (_, end) in order.ranges.items()},
        order.clock_ms,
        order.global_ends,
    )
    key = PLAN_KEY.encode()
    writer.send(application.batches_topic, key, plan.to_json(), order.clock_ms, (), 0)


def marker_key(report: Report) -> bytes:
    return f"task/{report.task}/{report.stage}".encode()


def write_marker(
    writer: Writer, application: Application, order: StageRequest, report: Report
) -> None:
    """Writes that the task's writes of this stage and batch exist, and where its clocks stand."""
    # A task that runs this batch again needs its clocks as they were before.
    before = order.clocks.get(report.task)
    value: dict[str, Any] = {"batch": order.batch, "before": before, "clocks": report.clocks}
    writer.send(
        application.batches_topic,
        marker_key(report),
        json.dumps(value).encode(),
        order.clock_ms,
        (),
        0,
    )
