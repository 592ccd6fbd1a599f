"""What a slot writes into the batch log, inside its transaction, for the driver to read."""

from __future__ import annotations

from penstock.runtime.spark.exchange.batch_log import PLAN_KEY, Marker, marker_key
from penstock.runtime.spark.exchange.stage_request import Application, Report, StageRequest
from penstock.runtime.spark.worker.writer import Writer


def write_plan(writer: Writer, application: Application, request: StageRequest) -> None:
    """Write the plan of the whole batch.

    Every slot writes it. If other slots die before they commit, the next driver finds the plan
    beside this slot's markers and can finish the batch.
    """
    topic, key = application.batches_topic, PLAN_KEY.encode()
    writer.send(topic, key, request.plan, request.clock_ms, (), 0)


def write_marker(
    writer: Writer, application: Application, request: StageRequest, report: Report
) -> None:
    """Write that the task has committed this stage, with its next positions and its clocks."""
    assert report.clocks is not None
    marker = Marker(request.batch, report.clocks, report.positions, report.skips)
    key = marker_key(report.task, report.stage).encode()
    writer.send(application.batches_topic, key, marker.to_json(), request.clock_ms, (), 0)
