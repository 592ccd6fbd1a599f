"""Sizes that failed in the past: large records, many stages, many partitions."""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from tests.integration.spark.application import counts
from tests.integration.spark.instances import exact, wait_for, words

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]

log = logging.getLogger(__name__)


@pytest.mark.slow
def test_large_records_pass_in_bounded_batches(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """A slot stops at 64 MiB, so 180 MB take several batches, also through a repartition."""
    source, sink = new_topic("in", partitions=2), new_topic("out")
    text = secrets.token_hex(450_000)
    for number in range(0, 200, 20):
        produce(source, *[(f"k{n}", f"{n} {text}") for n in range(number, number + 20)])
    builder = ps.StreamsBuilder()
    stream = builder.stream(source).select_key(lambda _, value: value.split()[0])
    stream.repartition().map_values(lambda value: str(len(value))).to(sink)
    with streams_of(builder.build(), num_stream_threads=2) as streams:
        assert streams.run_until_idle("300s")
        assert streams.metrics().batches > 1
    keys = Counter(bytes(key).decode() for key, _ in committed(sink))
    assert keys == Counter(str(number) for number in range(200))


@pytest.mark.slow
def test_fifty_repartitions_make_steady_progress(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """Each is a stage of its own; batches grow so that the stages are worth it."""
    source, sink = new_topic("in"), new_topic("out")
    builder = ps.StreamsBuilder()
    stream = builder.stream(source)
    for number in range(50):
        stream = stream.select_key(lambda key, _: f"{key}").repartition(name=f"step-{number}")
    stream.to(sink)
    produce(source, *words(3_000, different=3_000))
    with streams_of(builder.build()) as streams:
        began = time.monotonic()
        assert streams.run_until_idle("240s")
        log.info("%.0f records a second", 3_000 / (time.monotonic() - began))
    found = Counter(bytes(value).decode() for _, value in committed(sink))
    assert found == Counter(value for _, value in words(3_000, different=3_000))


@pytest.mark.slow
def test_two_threads_serve_two_hundred_partitions(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """Every partition is a task with a store of its own."""
    source, sink = new_topic("in", partitions=200), new_topic("out")
    builder = ps.StreamsBuilder()
    builder.stream(source).group_by_key().count("counts").to_stream().to(sink)
    config = {"num_stream_threads": 2, "statestore_cache_max_bytes": 0}
    keys = [f"w{number}" for number in range(1_000)]
    with streams_of(builder.build(), **config) as streams:
        for _ in range(3):
            produce(source, *[(key, "x") for key in keys])
            assert streams.run_until_idle("300s")
    assert exact(committed(sink)) == dict.fromkeys(keys, 3)


def test_hot_key_is_counted_exactly(
    streams_of: Make, topics: Any, produce: Write, committed: Records
) -> None:
    """Nine of ten records go to one task."""
    source, sink = topics
    records = [(f"k{n}", "hot" if n % 10 else f"cold{n % 70}") for n in range(20_000)]
    produce(source, *records)
    config = {"num_stream_threads": 2, "statestore_cache_max_bytes": 0}
    with streams_of(counts(source, sink), **config) as streams:
        assert streams.run_until_idle("300s")
    assert exact(committed(sink)) == Counter(value for _, value in records)


@pytest.mark.slow
def test_slow_function_commits_steadily_within_the_transaction_timeout(
    streams_of: Make, topics: Any, produce: Write, committed: Records
) -> None:
    """A batch is cut by time, so that a backlog of a minute does not expire its transaction."""
    source, sink = topics
    produce(source, *words(20_000))
    config = {"num_stream_threads": 2, "statestore_cache_max_bytes": 0}
    config |= {"transaction_timeout_ms": 10_000}
    with streams_of(counts(source, sink, pause_s=0.003), **config):
        assert wait_for(lambda: committed(sink), 30, "the first commit") < 15
        seen = [0]
        while seen[-1] < 20_000:
            time.sleep(10)
            seen.append(len(committed(sink)))
            assert seen[-1] > seen[-2], f"no commit in 10 s: {seen}"
    assert exact(committed(sink)) == {f"w{number}": 2_000 for number in range(10)}
