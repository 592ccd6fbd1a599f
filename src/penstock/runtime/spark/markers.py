"""Markers: a task's proof, inside its transaction, that its part of a batch is done.

They live in the application's batch log, a compacted topic; the driver's side is ``batch_log``.
"""

from __future__ import annotations

import json
from typing import Any

from penstock.runtime.spark.orders import Application, Order, Report
from penstock.runtime.spark.output import Writer


def marker_key(report: Report) -> bytes:
    return f"task/{report.task}/{report.stage}".encode()


def write_marker(writer: Writer, application: Application, order: Order, report: Report) -> None:
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
