"""Repartitioning, three times: the same two tables per user, by a bad, a better and the best way.

A new key sends every record through one more topic: written once, read once, kept on disk.

- bad: the key is changed and each aggregation repartitions for itself: two topics, whole orders
- better: first make the record small, then repartition once, on purpose, for both
- best: the producer already uses the right key: no topic at all
"""

from collections.abc import Callable
from dataclasses import dataclass

from penstock import KafkaStreams, StreamsBuilder, Topology

config = {"application.id": "repartitioning"}


@dataclass(frozen=True)
class Order:
    order_id: str
    user_id: str
    amount: float
    note: str = ""


def bad(builder: StreamsBuilder) -> None:
    by_user = builder.stream("orders", value=Order).map(lambda _, order: (order.user_id, order))
    by_user.group_by_key(value=Order).count("bad-orders")
    by_user.group_by_key(value=Order).aggregate(
        lambda: 0.0, lambda _, order, total: total + order.amount, "bad-revenue", value=float
    )


def better(builder: StreamsBuilder) -> None:
    amounts = (
        builder.stream("orders", value=Order)
        .select_key(lambda _, order: order.user_id)
        # Only what the aggregations need travels.
        .map_values(lambda order: order.amount)
        .repartition("amounts-by-user", value=float)
        .group_by_key()
    )
    amounts.count("better-orders")
    amounts.reduce(lambda one, other: one + other, "better-revenue", value=float)


def best(builder: StreamsBuilder) -> None:
    orders = builder.stream("orders-by-user", value=Order).group_by_key()
    orders.count("best-orders")
    orders.aggregate(
        lambda: 0.0, lambda _, order, total: total + order.amount, "best-revenue", value=float
    )


def build(*ways: Callable[[StreamsBuilder], None]) -> Topology:
    """All three, side by side: ``explain()`` and ``describe()`` show what each of them costs."""
    builder = StreamsBuilder()
    for way in ways or (bad, better, best):
        way(builder)
    return builder.build()


def show(streams: KafkaStreams) -> None:
    for way in ("bad", "better", "best"):
        counts = dict(streams.store(f"{way}-orders").all())
        revenue = dict(streams.store(f"{way}-revenue").all())
        print(f"{way:6} {counts} {revenue}")
