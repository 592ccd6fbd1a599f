"""Records that a real broker refuses, in a transaction and without one.

Exercises ``worker.writer``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StreamsError
from penstock.processor.handlers import CONTINUE, ErrorHandlerContext, Response, dead_letters

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]

GUARANTEES = ("exactly_once_v2", "at_least_once")
LARGE = 3_000_000


def growing(source: str, sink: str) -> ps.Topology:
    """Every tenth record becomes larger than the topic allows."""
    builder = ps.StreamsBuilder()
    lines = builder.stream(source, key="string", value="string")
    lines.map_values(lambda line: line * LARGE if line == "0" else line).to(sink)
    return builder.build()


def bury(context: ErrorHandlerContext, record: Any, error: Exception) -> Response:
    return Response(CONTINUE, dead_letters(context, error))


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_handler_buries_what_the_broker_refuses(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, guarantee: str
) -> None:
    """All other records arrive; the dead letters hold the source records of the rest."""
    source, sink, dead = new_topic("in"), new_topic("out"), new_topic("dead")
    produce(source, *[(f"k{n}", str(n % 10)) for n in range(100)])
    config = {
        "production_exception_handler": bury,
        "errors_dead_letter_queue_topic_name": dead,
        "processing_guarantee": guarantee,
    }
    with streams_of(growing(source, sink), **config) as streams:
        assert streams.run_until_idle("300s")
        assert sum(streams.metrics().dropped.values()) == 10
    wanted = {f"k{n}": str(n % 10) for n in range(100)}
    assert texts(committed(sink)) == {key: value for key, value in wanted.items() if value != "0"}
    assert texts(committed(dead)) == {key: value for key, value in wanted.items() if value == "0"}


def texts(records: list[tuple[Any, Any]]) -> dict[str, str]:
    return {bytes(key).decode(): bytes(value).decode() for key, value in records}


def test_refused_record_ends_the_application_at_once_by_default(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """It says which record was too large for which topic; nothing is half-written."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, ("a", "1"), ("b", "0"))
    refused = pytest.raises(StreamsError, match="Kafka refused a record of 3000001 bytes")
    with streams_of(growing(source, sink)) as streams, refused:
        streams.run_until_idle("300s")
    assert committed(sink) == []


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_topic_that_takes_only_small_requests_gets_every_record(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, guarantee: str
) -> None:
    """Many small records in one request are too large together, but none of them is."""
    source = new_topic("in")
    sink = new_topic("out", max_message_bytes="4000")
    produce(source, *[(f"k{n}", "x" * 100) for n in range(2_000)])
    builder = ps.StreamsBuilder()
    builder.stream(source, key="string", value="string").to(sink)
    with streams_of(builder.build(), processing_guarantee=guarantee) as streams:
        assert streams.run_until_idle("300s")
    found = Counter(bytes(key).decode() for key, _ in committed(sink))
    assert found.keys() == {f"k{n}" for n in range(2_000)}
    if guarantee != "at_least_once":
        assert set(found.values()) == {1}
