"""``penstock.read``: the records of a topic as objects and as tables, without Spark.

Exercises ``frames.topics``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from confluent_kafka import Producer

import penstock
from penstock.errors import DeserializationError
from penstock.kafka.errors import UnknownTopicError
from penstock.serde.serdes import resolve_serde

pytestmark = pytest.mark.kafka


@dataclass
class Average:
    city: str
    mean: float


@pytest.fixture
def averages(kafka_broker: str, new_topic: Callable[..., str]) -> str:
    """A topic with four changes of three keys, one of which is deleted in the end."""
    topic = new_topic("averages", partitions=2)
    producer = Producer({"bootstrap.servers": kafka_broker, "partitioner": "murmur2_random"})
    serde = resolve_serde(Average)
    assert serde is not None
    for number, (key, value) in enumerate(
        [("a", Average("Oslo", 1.0)), ("b", Average("Faro", 2.0)), ("a", Average("Oslo", 3.0)),
         ("c", Average("Kobe", 4.0)), ("c", None)]
    ):  # fmt: skip
        data = None if value is None else serde.encode(value)
        producer.produce(topic, data, key, timestamp=1_000 * (number + 1))
    producer.flush()
    return topic


def test_records_are_objects_with_their_place(averages: str, kafka_broker: str) -> None:
    records = penstock.read(averages, value=Average, bootstrap_servers=kafka_broker)
    found = sorted(records, key=lambda record: record.timestamp)
    assert [(record.key, record.value) for record in found][:2] == [
        ("a", Average("Oslo", 1.0)), ("b", Average("Faro", 2.0)),
    ]  # fmt: skip
    assert found[-1].value is None
    assert {record.topic for record in found} == {averages}
    # Another use reads the topic anew.
    assert len(list(records)) == 5


def test_tables_have_the_members_of_the_value_as_columns(averages: str, kafka_broker: str) -> None:
    frame = penstock.read(averages, value=Average, bootstrap_servers=kafka_broker).to_polars()
    assert frame.columns == ["key", "city", "mean", "timestamp", "partition", "offset"]
    assert frame.schema["timestamp"] == pl.Datetime("ms", "UTC")
    first = frame.sort("timestamp").row(0, named=True)
    assert (first["key"], first["city"], first["mean"]) == ("a", "Oslo", 1.0)
    assert first["timestamp"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_the_latest_records_are_the_table_whose_changes_the_topic_has(
    averages: str, kafka_broker: str
) -> None:
    latest = penstock.read(averages, value=Average, bootstrap_servers=kafka_broker).latest()
    assert {record.key: record.value.mean for record in latest} == {"a": 3.0, "b": 2.0}


def test_records_since_a_time_are_read(averages: str, kafka_broker: str) -> None:
    since = datetime.fromtimestamp(3, UTC)
    later = penstock.read(averages, value=Average, bootstrap_servers=kafka_broker, since=since)
    assert sorted(record.timestamp for record in later) == [3_000, 4_000, 5_000]
    texts = ("1970-01-01T00:00:03Z", timedelta(hours=1), "1h")
    found = (
        penstock.read(averages, value=Average, bootstrap_servers=kafka_broker, since=text)
        for text in texts
    )
    assert [len(list(records)) for records in found] == [3, 0, 0]


def test_an_empty_topic_has_typed_columns(kafka_broker: str, new_topic: Callable[..., str]) -> None:
    table = penstock.read(new_topic(), value=Average, bootstrap_servers=kafka_broker).to_arrow()
    assert table.num_rows == 0
    assert str(table.schema.field("mean").type) == "double"


def test_what_cannot_be_decoded_is_named_with_its_place(averages: str, kafka_broker: str) -> None:
    with pytest.raises(DeserializationError, match=r"offset \d+ is not long") as raised:
        list(penstock.read(averages, value=int, bootstrap_servers=kafka_broker))
    assert "value=" in str(raised.value)


def test_an_unknown_topic_is_named_within_a_moment(kafka_broker: str) -> None:
    begun = time.monotonic()
    with pytest.raises(UnknownTopicError, match="'no-such-topic'"):
        list(penstock.read("no-such-topic", bootstrap_servers=kafka_broker))
    assert time.monotonic() - begun < 10
