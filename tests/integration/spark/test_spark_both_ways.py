"""Leaving for Spark and coming back: to_spark, stores and topics as DataFrames.

Exercises ``data_source``, ``topic_data_source``, ``driver.to_spark`` and ``stores.snapshot``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import penstock as ps
from tests.integration.spark.versions import needs_spark

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@dataclass
class Payment:
    user: str
    amount: float


def test_each_batch_arrives_as_a_typed_dataframe(
    streams_of: Callable[..., ps.KafkaStreams], new_topic: Any, produce: Callable[..., None]
) -> None:
    """Columns follow the dataclass; every record arrives in exactly one batch."""
    source = new_topic("payments", partitions=2)
    produce(source, *[(f"k{n}", {"user": f"u{n}", "amount": n / 2}) for n in range(10)])
    seen: dict[int, list[Any]] = {}

    def write(frame: Any, batch: int) -> None:
        assert dict(frame.dtypes)["value"] == "struct<user:string,amount:double>"
        seen[batch] = frame.select("key", "value.user", "value.amount").collect()

    builder = ps.StreamsBuilder()
    builder.stream(source, key=str, value=Payment).to_spark(write)
    with streams_of(builder.build()) as streams:
        assert streams.run_until_idle("300s")
    rows = sorted(tuple(row) for batch in seen.values() for row in batch)
    assert rows == sorted((f"k{n}", f"u{n}", n / 2) for n in range(10))


@needs_spark("4.0", "a data source in Python")
def test_stores_and_topics_are_dataframes(
    spark: Any,
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    kafka_broker: str,
) -> None:
    """A committed snapshot of a store, and decoded topics in batch and in streaming reads."""
    source, sink = new_topic("words", partitions=2), new_topic("counts")
    produce(source, *[(f"w{n % 3}", "x") for n in range(9)])
    builder = ps.StreamsBuilder()
    builder.stream(source).group_by_key().count("c").to_stream().to(sink)
    with streams_of(builder.build()) as streams:
        assert streams.run_until_idle("300s")
        frame = streams.store_dataframe("c")
        assert frame.columns == ["key", "value", "timestamp"]
        rows = sorted((row["key"], row["value"]) for row in frame.collect())
        assert rows == [("w0", 3), ("w1", 3), ("w2", 3)]
        assert streams.store("c").to_polars()["value"].to_list() == [3, 3, 3]
    ps.register_data_source(spark)
    options = {"bootstrap.servers": kafka_broker, "topic": sink, "value.serde": "long"}
    table = spark.read.format("penstock").options(**options).load()
    assert {row["key"]: row["value"] for row in table.orderBy("offset").collect()} == {
        "w0": 3,
        "w1": 3,
        "w2": 3,
    }
    part = {"starting.offsets": '{"0": 1}', "ending.offsets": '{"0": 4}'}
    piece = spark.read.format("penstock").options(**options, **part).load()
    there = {row["offset"] for row in table.collect()}
    assert {row["offset"] for row in piece.collect()} == there & {1, 2, 3} != set()
