"""OpenTelemetry spans, one for each batch. The program chooses the exporter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from penstock.config import APPLICATION_ID, TRACING, StreamsConfig
from penstock.extras import needing
from penstock.runtime.spark.exchange.stage_request import Report


class BatchTracer:
    """Writes the span of a batch after the batch has ended, so that no batch waits for it."""

    def __init__(self, application_id: str, tracer: Any) -> None:
        self._application_id = application_id
        self._tracer = tracer

    @staticmethod
    def of(config: StreamsConfig) -> BatchTracer | None:
        """Return the tracer, or None if the configuration switches tracing off.

        Raises:
            MissingExtraError: ``missing-extra``: the extra ``tracing`` is not installed.
        """
        if config[TRACING] != "opentelemetry":
            return None
        with needing("tracing", TRACING.name):
            from opentelemetry.trace import get_tracer  # noqa: PLC0415 - an extra
        return BatchTracer(config[APPLICATION_ID], get_tracer("penstock"))

    def completed(self, batch: int, reports: Sequence[Report], seconds: float) -> None:
        """Write the span of a batch that has just been committed."""
        end_ns = time.time_ns()
        span = self._span("batch", batch, end_ns - int(seconds * 1e9))
        span.set_attribute("penstock.records", sum(report.records for report in reports))
        span.set_attribute("penstock.records.sent", sum(report.sent for report in reports))
        for report in reports:
            span.add_event(
                "task",
                {
                    "penstock.task": str(report.task),
                    "penstock.stage": report.stage,
                    "penstock.slot": report.slot,
                    "penstock.records": report.records,
                    "penstock.seconds": report.seconds,
                },
                timestamp=end_ns,
            )
        span.end(end_time=end_ns)

    def failed(self, batch: int, reason: str, seconds: float) -> None:
        """Write the span of a batch that has failed and runs again.

        Args:
            reason: the code of the error; its text may name data.
        """
        end_ns = time.time_ns()
        span = self._span("batch", batch, end_ns - int(seconds * 1e9))
        span.set_attribute("error.type", reason)
        span.end(end_time=end_ns)

    def _span(self, name: str, batch: int, start_ns: int) -> Any:
        return self._tracer.start_span(
            f"{self._application_id} {name}",
            start_time=start_ns,
            attributes={
                "penstock.application": self._application_id,
                "penstock.batch": batch,
                "messaging.system": "kafka",
            },
        )
