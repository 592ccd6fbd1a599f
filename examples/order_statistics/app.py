"""Orders in numbers: how many and how much per user, per five minutes, and per visit.

Four aggregates of one stream, each in a store of its own that can be asked while it grows.
"""

from dataclasses import dataclass

from penstock import (
    KafkaStreams,
    Materialized,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
)

config = {"application.id": "order-statistics"}

#: How long windows and sessions can be asked for; without it, as long as they can change.
KEEP = "1d"


@dataclass(frozen=True)
class Order:
    order_id: str
    amount: float


def build() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", value=Order).group_by_key()

    orders.count("order-count-store").to_stream().to("order-counts")

    orders.aggregate(
        lambda: 0.0,
        lambda _, order, revenue: revenue + order.amount,
        "revenue-store",
        value=float,
    ).to_stream().to("revenue")

    (
        orders.windowed_by(TimeWindows.of_size_with_no_grace("5m"))
        .count(Materialized.as_("windowed-order-count").with_retention(KEEP))
        .to_stream(lambda key, _: f"{key.key}@{key.window.start_time:%H:%M}")
        .to("order-counts-per-window", key=str)
    )
    (
        orders.windowed_by(SessionWindows.of_inactivity_gap_with_no_grace("30m"))
        .count(Materialized.as_("user-session-counts").with_retention(KEEP))
        .to_stream(lambda key, _: f"{key.key}@{key.window.start_time:%H:%M}")
        .to("orders-per-session", key=str)
    )
    return builder.build()


def show(streams: KafkaStreams) -> None:
    user = "user-123"
    print(f"{user} ordered {streams.store('order-count-store').get(user)} times")
    print(f"{user} spent {streams.store('revenue-store').get(user):.2f}")
    for key, count in streams.store("windowed-order-count").all():
        print(f"{key.key} from {key.window.start_time:%H:%M} on: {count}")
    for key, count in streams.store("user-session-counts").all():
        start, end = key.window.start_time, key.window.end_time
        print(f"{key.key} between {start:%H:%M} and {end:%H:%M}: {count}")
