"""Prometheus' own parser reads what is printed."""

import math

import pytest

from penstock.model.metric import Metric
from penstock.serving.prometheus import metric_family, to_prometheus

parser = pytest.importorskip("prometheus_client.parser", reason="a development dependency")

NASTY = 'a "quoted"\\ name\nwith a line'


def samples(*metrics: Metric) -> dict[str, tuple[dict[str, str], float]]:
    text = to_prometheus(metrics).decode()
    return {
        sample.name: (sample.labels, sample.value)
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_tags_are_labels_and_keep_every_character() -> None:
    found = samples(
        Metric("process-rate", "stream-task-metrics", 2.5, {"task-id": NASTY}, f"Help: {NASTY}")
    )
    assert found == {"kafka_stream_task_process_rate": ({"task_id": NASTY}, 2.5)}


def test_totals_are_counters_and_text_is_a_label() -> None:
    metrics = [
        Metric("process-total", "stream-task-metrics", 10),
        Metric("state", "stream-metrics", "RUNNING", {"client-id": "c"}),
    ]
    found = samples(*metrics)
    assert found["kafka_stream_task_process_total"] == ({}, 10)
    assert found["kafka_stream_state"] == ({"client_id": "c", "value": "RUNNING"}, 1)
    assert b"# TYPE kafka_stream_task_process_total counter" in to_prometheus(metrics)


def test_members_of_a_family_stand_together() -> None:
    page = to_prometheus(
        Metric(name, "stream-task-metrics", 1, {"task-id": task})
        for task in ("0_0", "0_1")
        for name in ("process-rate", "commit-rate")
    ).decode()
    assert page.count("# TYPE") == 2
    assert [line.split("{")[0] for line in page.splitlines() if line[0] != "#"] == [
        "kafka_stream_task_process_rate",
        "kafka_stream_task_process_rate",
        "kafka_stream_task_commit_rate",
        "kafka_stream_task_commit_rate",
    ]


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.1, 1e300, -5, 2**60])
def test_numbers_are_read_back(value: float) -> None:
    assert samples(Metric("x", "g", value))["kafka_g_x"][1] == value


def test_what_is_not_known_is_not_a_number() -> None:
    assert math.isnan(samples(Metric("x", "g", math.nan))["kafka_g_x"][1])


def test_names_are_those_of_the_usual_exporters() -> None:
    metric = Metric("record-e2e-latency-avg", "stream-processor-node-metrics", 1.0)
    assert metric_family(metric) == "kafka_stream_processor_node_record_e2e_latency_avg"
