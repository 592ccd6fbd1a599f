"""What handlers log: the operator and its line, as everywhere people look."""

from __future__ import annotations

import pytest

from penstock import StreamsBuilder
from penstock.processor.handlers import ErrorHandlerContext
from penstock.testing import TopologyTestDriver


@pytest.mark.parametrize("kind", ["deserialization", "processing"])
def test_the_log_names_a_failed_record_by_operator_and_line(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value="json").map_values(lambda value: value["a"]).to("out")
    with TopologyTestDriver(builder.build(), {f"{kind}.exception.handler": "continue"}) as driver:
        driver.pipe_bytes("in", None, b"{" if kind == "deserialization" else b"{}", 0)
    (line,) = [each.getMessage() for each in caplog.records if "offset 0" in each.getMessage()]
    operator = "read" if kind == "deserialization" else "map_values"
    assert f"Handler: {operator} · test_handlers.py:" in line
    assert "KSTREAM" not in line


def test_handlers_know_the_title_and_the_generated_name() -> None:
    """Metrics have the generated name, people look for the title."""
    seen: list[ErrorHandlerContext] = []

    def handler(context: ErrorHandlerContext, record: object, error: Exception) -> str:
        seen.append(context)
        return "CONTINUE"

    builder = StreamsBuilder()
    builder.stream("in").filter(lambda key, value: 1 // 0 > 0).to("out")
    config = {"processing.exception.handler": handler}
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.pipe("in", "x")
    (context,) = seen
    assert context.processor_node_id == "KSTREAM-FILTER-0000000001"
    assert context.node_title.startswith("filter · test_handlers.py:")


def test_a_topic_that_no_node_writes_has_no_title() -> None:
    """The processing log sends to one, and Kafka may refuse an entry."""
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        (task,) = driver._application.all_tasks
        assert task.failures.context("log").node_title == ""
        (sink,) = task.sink_topics()
        assert task.failures.context(sink).node_title.startswith("write · test_handlers.py:")
