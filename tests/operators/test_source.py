"""Reading topics: time, order and what cannot be decoded."""

import re

import pytest

from penstock import Serdes, StreamsBuilder
from penstock.errors import StreamsError, UnavailableError
from penstock.testing import TopologyTestDriver, rows
from tests.operators.driver import Driver


def copy() -> StreamsBuilder:
    builder = StreamsBuilder()
    builder.stream("in", value=int).to("out", value=int)
    return builder


def test_smallest_timestamp_goes_first(driver: Driver) -> None:
    """TOP-7: among the heads of several topics; within a topic the order stays."""
    builder = StreamsBuilder()
    builder.stream(["left", "right"]).to("out")
    driver.start(builder.build())
    driver.inner.pipe_batch(
        {
            "left": "key | value | time\nl | first | 0:05\nl | late | 0:01",
            "right": "key | value | time\nr | second | 0:06\nr | last | 0:09",
        }
    )
    assert [row.cells["value"] for row in driver.read("out")] == ["first", "late", "second", "last"]


def test_undecodable_record_fails_unless_told_to_continue(driver: Driver) -> None:
    """XX-01: log and fail is the default, as in Java's code; the dead letter keeps the bytes."""
    driver.start(copy().build())
    with pytest.raises(StreamsError, match=r"topic 'in' partition 0 offset 0"):
        driver.inner.pipe_bytes("in", b"k", b"five", 0)
    config = {
        "deserialization.exception.handler": "continue",
        "errors.dead.letter.queue.topic.name": "dead",
    }
    driver.start(copy().build(), config)
    driver.inner.pipe_bytes("in", b"k", b"five", 0)
    driver.pipe("in", "key | value\nk | 5")
    assert driver.read("out") == rows("key | value\nk | 5")
    assert [record.value for record in driver.inner.take_all("dead")] == [b"five"]


def test_record_is_not_skipped_when_what_it_needs_cannot_be_reached(driver: Driver) -> None:
    """A handler that goes on without bad records would lose good ones."""

    def away(data: bytes) -> str:
        raise UnavailableError("registry-unavailable", "the registry is away")

    builder = StreamsBuilder()
    builder.stream("in", value=Serdes.serde_from(str.encode, away)).to("out")
    config = {"deserialization.exception.handler": "continue"}
    driver.start(builder.build(), config)
    with pytest.raises(UnavailableError, match="the registry is away"):
        driver.inner.pipe_bytes("in", b"k", b"v", 0)


def test_timestamp_extractor_decides_the_time(driver: Driver) -> None:
    """A negative time drops the record."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value=int, timestamp_extractor=lambda record, _: record.value)
    stream.to("out", value=int)
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\na | 7000 | 0:01\nb | -1 | 0:02")
    assert driver.read("out") == rows("key | value | time\na | 7000 | 0:07")
    assert driver.dropped() == {"negative-timestamp": 1}


def test_pattern_reads_every_topic_that_matches() -> None:
    """Topics are known by their names only when their records arrive."""
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*")).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("in-1", "a")
        driver.pipe("in-2", "b")
        assert driver.read_values("out") == ["a", "b"]


def test_headers_come_through() -> None:
    """BK-10: time and headers are carried from input to output."""
    with TopologyTestDriver(copy().build()) as driver:
        driver.pipe_input("in", "k", 5, 77, (("trace", b"1"),))
        (record,) = driver.read_records("out")
        assert (record.timestamp, record.headers) == (77, (("trace", b"1"),))
