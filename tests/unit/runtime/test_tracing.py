"""Batches as OpenTelemetry spans."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("opentelemetry.sdk", reason="a development dependency")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock.config import StreamsConfig
from penstock.errors import ConfigError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.observing.tracing import BatchTracer
from penstock.runtime.spark.exchange.stage_request import Report


def test_a_batch_is_a_span_with_its_tasks() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = BatchTracer("app", provider.get_tracer("test"))
    report = Report(task=TaskId(0, 1), stage=0, slot=1, records=40, sent=4, seconds=0.2)
    tracer.completed(7, [report], 0.5)
    tracer.failed(8, "worker-lost", 1.5)
    done, failed = exporter.get_finished_spans()
    assert (done.name, done.attributes["penstock.batch"]) == ("app batch", 7)
    assert done.attributes["penstock.records"] == 40
    assert done.end_time - done.start_time == 500_000_000
    (event,) = done.events
    assert (event.name, event.attributes["penstock.task"]) == ("task", "0_1")
    assert failed.attributes["error.type"] == "worker-lost"
    assert failed.end_time - failed.start_time == 1_500_000_000


def test_nothing_is_traced_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BatchTracer.of(StreamsConfig({"application.id": "a"})) is None
    config = StreamsConfig({"application.id": "a", "penstock.tracing": "opentelemetry"})
    assert BatchTracer.of(config) is not None
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(ConfigError, match=r"penstock-streams\[tracing\]"):
        BatchTracer.of(config)
