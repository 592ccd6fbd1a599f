"""Spark's own pages, through its REST API, while an application runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

import penstock as ps
from tests.integration.spark.versions import needs_spark

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def shown(spark: Any, what: str) -> Any:
    context = spark.sparkContext
    if context.uiWebUrl is None or urlsplit(context.uiWebUrl).port is None:
        pytest.skip("another test of this process has started Spark without its pages")
    port = urlsplit(context.uiWebUrl).port
    address = f"http://127.0.0.1:{port}/api/v1/applications/{context.applicationId}/{what}"
    with urlopen(address, timeout=30) as answer:
        return json.load(answer)


def metrics_of(spark: Any, stage: int) -> list[Any]:
    (attempt,) = shown(spark, f"stages/{stage}?details=true")
    # A task that has just begun has none yet.
    return [task["taskMetrics"] for task in attempt["tasks"].values() if "taskMetrics" in task]


def records(metrics: list[Any]) -> tuple[int, int]:
    read = sum(each["inputMetrics"]["recordsRead"] for each in metrics)
    return read, sum(each["outputMetrics"]["recordsWritten"] for each in metrics)


@needs_spark("4.0", "what tasks have written, on Spark's pages,")
def test_spark_shows_what_an_application_does(
    spark: Any,
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    application_id: str,
) -> None:
    """One running job of its name, whose tasks say what they have read and written."""
    source, sink = new_topic("words", partitions=2), new_topic("counts", partitions=2)
    builder = ps.StreamsBuilder()
    builder.stream(source).group_by(lambda _, word: word).count().to_stream().to(sink)
    produce(source, *((b"%d" % number, b"word %d" % number) for number in range(50)))
    streams_of(builder.build(), num_stream_threads=2).start()
    deadline, found, job = time.monotonic() + 60, [], None
    # 50 words; 50 rows of the repartition topic, which are written, then read; 50 counts.
    while records(found) != (100, 100) and time.monotonic() < deadline:
        time.sleep(0.2)
        jobs = [each for each in shown(spark, "jobs") if each["name"] == application_id]
        assert [(each["status"], each["numTasks"]) for each in jobs] == [("RUNNING", 2)]
        (job,) = jobs
        found = metrics_of(spark, job["stageIds"][0])
    assert records(found) == (100, 100)
    assert job is not None
    assert job["description"].startswith(f"{application_id}: stream threads (R")
    assert all(each["executorCpuTime"] > 0 for each in found)
    for side, what in (("inputMetrics", "bytesRead"), ("outputMetrics", "bytesWritten")):
        assert sum(each[side][what] for each in found) > 50 * len(b"word 10")
