"""What a slot writes into the batch log, inside its transaction; the driver's side reads it."""

from __future__ import annotations

from penstock.runtime.spark.exchange.batch_log import PLAN_KEY, Marker, marker_key
from penstock.runtime.spark.exchange.stage_request import Application, Report, StageRequest
from penstock.runtime.spark.worker.writer import Writer


def write_plan(writer: Writer, application: Application, request: StageRequest) -> None:
    """Write what the whole batch is: other slots may die before they commit their part."""
    topic, key = application.batches_topic, PLAN_KEY.encode()
    writer.send(topic, key, request.plan, request.clock_ms, (), 0)


def write_marker(
    writer: Writer, application: Application, request: StageRequest, report: Report
) -> None:
    """Write that the task's part of this stage exists, where it goes on, and its clocks."""
    assert report.clocks is not None
    marker = Marker(request.batch, report.clocks, report.positions, report.skips)
    key = marker_key(report.task, report.stage).encode()
    writer.send(application.batches_topic, key, marker.to_json(), request.clock_ms, (), 0)
