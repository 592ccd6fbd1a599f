"""Records are read for a journey from Kafka, in spans. Exercises ``topic_spans``."""

from __future__ import annotations

import json

import pytest

from penstock.runtime.spark.driver.observing.record_journeys import RecordJourneys
from penstock.serde.primitives import LongSerde
from penstock.serving.application import NotAvailableError
from penstock.serving.journey.values import Rows, TopicRecord
from tests.unit.runtime.test_dead_letter_topic import CONFIG, Kafka, topology


class Nothing:
    """Stores without a row."""

    def of_key(self, store: str, key: object) -> Rows:
        return Rows()

    def some(self, store: str) -> Rows:
        return Rows()


def opened(kafka: Kafka) -> RecordJourneys:
    return RecordJourneys(topology(), CONFIG, admin=kafka, read=kafka.read)


def test_the_topics_are_those_that_are_read_from_others() -> None:
    """Repartition topics are not, and topics of a pattern are not known by name."""
    sources = opened(Kafka()).sources()
    assert list(sources) == ["orders"]
    assert isinstance(sources["orders"][1], LongSerde)


def test_a_span_is_read_within_the_bounds_of_the_log() -> None:
    """Gaps are left out."""
    tools = opened(Kafka())
    assert tools.bounds("orders") == {0: (0, 4), 1: (2, 5)}
    assert [each.offset for each in tools.read("orders", 1, 0, 99)] == [2, 4]
    (record,) = tools.read("orders", 0, 1, 2)
    assert (record.key, record.value, record.timestamp) == (b"k", b"v", 1_001)
    assert record.headers == (("h", b"1"),)
    assert tools.read("orders", 1, 5, 9) == tools.read("orders", 8, 0, 1) == []


def test_large_records_push_out_older_ones() -> None:
    """The server has to keep them all in memory."""
    kafka = Kafka(((0, 40),))
    kafka.value = b"x" * 1_000_000
    found = opened(kafka).read("orders", 0, 0, 40)
    assert (len(found), found[-1].offset) == (16, 39)


def test_a_record_is_run() -> None:
    """By the program, beside the application."""
    record = TopicRecord(
        topic="orders", partition=1, offset=3, timestamp=1, key=b"k",
        value=(7).to_bytes(8, "big"),
    )  # fmt: skip
    trace = opened(Kafka()).run([], record, Nothing())
    assert json.loads(bytes(trace.steps[0].value)) == 7


def test_a_topic_that_is_gone_can_be_asked_for_later() -> None:
    """Not an error of the server's."""
    kafka = Kafka()
    kafka.is_away = True
    with pytest.raises(NotAvailableError) as raised:
        opened(kafka).bounds("orders")
    assert raised.value.code == "records-unreachable"
