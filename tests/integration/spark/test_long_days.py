"""What takes minutes on an ordinary day: a backlog under a quota, a function of ``to_spark``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from tests.integration.spark.instances import thread_process, wait_for
from tests.ordinary.quotas import set_quotas

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def test_a_backlog_is_worked_off_under_a_quota(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, kafka_broker: str
) -> None:
    """A batch that is too large for the quota becomes smaller; records come out all the time."""
    source, sink = new_topic("in", partitions=2), new_topic("out", partitions=2)
    chance = random.Random(6)
    values = [chance.randbytes(10_000) for _ in range(8_000)]
    produce(source, *[(f"k{n}", value) for n, value in enumerate(values)])
    builder = ps.StreamsBuilder()
    builder.stream(source, value=bytes).to(sink)
    quota = {"producer_byte_rate": 500_000.0}
    seen: list[int] = []
    set_quotas(kafka_broker, "ANONYMOUS", quota)
    try:
        with streams_of(builder.build()) as streams:
            for _ in range(4):
                time.sleep(30)
                seen.append(len(committed(sink)))
            set_quotas(kafka_broker, "ANONYMOUS", dict.fromkeys(quota))
            assert streams.run_until_idle("180s")
    finally:
        set_quotas(kafka_broker, "ANONYMOUS", dict.fromkeys(quota))
    assert sorted(value for _, value in committed(sink)) == sorted(values)
    assert seen == sorted(set(seen)), f"no batch was committed within half a minute: {seen}"
    assert seen[-1] < len(values), "the quota did not hold anything up"


def test_a_function_of_to_spark_that_takes_minutes_ends_no_thread(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, tmp_path: Path
) -> None:
    """Stores stay where they are, other records go on, and the function gets every row once."""
    source, sink, called = new_topic("in"), new_topic("out"), tmp_path / "called"
    rows: list[str] = []

    def slow(frame: Any, _: Any) -> None:
        found = [row["value"] for row in frame.collect()]
        if not called.exists():
            called.touch()
            time.sleep(150)
        rows.extend(found)

    builder = ps.StreamsBuilder()
    stream = builder.stream(source, key=str, value=str)
    stream.to_spark(slow)
    stream.group_by_key().count("counts").to_stream().to(sink)
    with streams_of(builder.build()) as streams:
        produce(source, ("a", "first"))
        wait_for(called.exists, 60, "the call")
        restored, began = streams.metrics().restored_records, time.monotonic()
        thread = thread_process(streams, 0)
        while time.monotonic() - began < 140:
            sent = len(committed(sink))
            produce(source, ("a", "more"))
            wait_for(lambda sent=sent: len(committed(sink)) > sent, 10, "the next count")
            time.sleep(5)
        assert thread_process(streams, 0) == thread
        assert streams.metrics().restored_records == restored
        assert streams.run_until_idle("120s")
        count = streams.store("counts").get("a")
    assert sorted(rows) == sorted(["first", *["more"] * (count - 1)])
