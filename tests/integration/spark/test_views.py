"""Stores and topics of an application in Spark SQL: ``driver.stores.views``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from tests.integration.spark.versions import needs_spark

pytestmark = [pytest.mark.spark, pytest.mark.kafka, needs_spark("4.0", "format('penstock')")]


@dataclass
class Order:
    user: str
    amount: int


def test_stores_and_topics_can_be_joined(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    spark: Any,
) -> None:
    """All are as of one moment, until they are registered again."""
    source, sink = new_topic("orders", partitions=2), new_topic("large")
    builder = ps.StreamsBuilder()
    orders = builder.stream(source, key=str, value=Order)
    by_user = orders.group_by(lambda _, order: order.user)
    by_user.count("order-counts")
    by_user.windowed_by(ps.TimeWindows.of_size_with_no_grace("1h")).count("hourly")
    orders.filter(lambda _, order: order.amount > 1).to(sink)
    with streams_of(builder.build()) as streams:
        send = [(f"k{n}", {"user": f"u{n % 2}", "amount": n}) for n in range(4)]
        produce(source, *send)
        assert streams.run_until_idle("300s")
        views = streams.register_views(spark, "shop")
        large = f"shop_{sink.replace('-', '_')}"
        assert views[large] == sink
        assert views["shop_order_counts"] == "order-counts"
        found = spark.sql(f"""
            SELECT o.value.user, c.value AS orders, h.value AS hourly, o.value.amount
            FROM {large} o JOIN shop_order_counts c ON c.key = o.value.user
            JOIN shop_hourly h ON h.key = c.key ORDER BY amount
        """)
        assert [tuple(row) for row in found.collect()] == [("u0", 2, 2, 2), ("u1", 2, 2, 3)]
        produce(source, *send)
        assert streams.run_until_idle("300s")
        totals = [spark.table(large).count(), total(spark)]
        streams.register_views(spark, "shop")
        assert [*totals, spark.table(large).count(), total(spark)] == [2, 4, 4, 8]


def total(spark: Any) -> int:
    found: int = spark.table("shop_order_counts").groupBy().sum("value").first()[0]
    return found


def test_two_stores_with_one_name_in_sql_are_refused(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    spark: Any,
) -> None:
    source = new_topic("words")
    builder = ps.StreamsBuilder()
    words = builder.stream(source).group_by_key()
    words.count("a-b")
    words.count("a.b")
    with streams_of(builder.build()) as streams:
        produce(source, ("k", "v"))
        assert streams.run_until_idle("300s")
        with pytest.raises(InvalidArgumentError, match="would both be the view 'a_b'") as caught:
            streams.register_views(spark, "")
    assert caught.value.code == "same-view"
