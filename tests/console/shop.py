"""A program of a shop: joins, windows, sessions, a processor. Consoles show its topology."""

from __future__ import annotations

from typing import Any

import penstock as ps


class Watchdog(ps.Processor[str, Any, str, Any]):
    """Remembers when a customer was last seen."""

    def init(self, context: ps.ProcessorContext[str, Any]) -> None:
        self.context = context
        self.seen = context.get_state_store("last-seen")

    def process(self, record: ps.Record[str, Any]) -> None:
        self.seen.put(record.key, record.timestamp)
        self.context.forward(record)


def build() -> ps.Topology:
    """Return the shop's topology."""
    builder = ps.StreamsBuilder()
    orders = builder.stream("orders", key="string", value="json")
    customers = builder.table("customers", materialized=ps.Materialized.as_("customers"))
    products = builder.global_table("products", materialized=ps.Materialized.as_("products"))
    valid = orders.filter(lambda _, order: order["amount"] > 0)
    enriched = valid.join(customers, lambda order, customer: {**order, "customer": customer}).join(
        products,
        key=lambda key, order: order["product"],
        joiner=lambda order, product: {**order, "price": product["price"]},
    )
    enriched.to("enriched-orders")
    by_country = enriched.group_by(lambda _, order: order["customer"]["country"])
    (
        by_country.windowed_by(ps.TimeWindows.of_size_and_grace("1m", "10s"))
        .aggregate(
            lambda: 0.0,
            lambda country, order, total: total + order["amount"],
            materialized=ps.Materialized.as_("revenue-per-minute"),
        )
        .to_stream()
        .to("revenue")
    )
    by_country.count("orders-per-country")
    sessions = orders.group_by_key().windowed_by(
        ps.SessionWindows.of_inactivity_gap_and_grace("5m", "1m")
    )
    sessions.count("visits")
    store = ps.Stores.key_value_store_builder(
        ps.Stores.persistent_key_value_store("last-seen"), ps.Serdes.string(), ps.Serdes.long()
    )
    builder.add_state_store(store)
    valid.process(Watchdog, "last-seen", name="watchdog").to("seen")
    return builder.build()


def large(arms: int = 12) -> ps.Topology:
    """Return a topology of more than a hundred nodes."""
    builder = ps.StreamsBuilder()
    events = builder.stream("events", key="string", value="json")
    for number in range(arms):
        (
            events.filter(lambda _, event, n=number: event["kind"] == n)
            .map_values(lambda event: {**event, "seen": True})
            .peek(lambda *_: None)
            .filter_not(lambda _, event: event.get("test", False))
            .group_by(lambda _, event: event["user"])
            .count(f"per-user-{number:02d}")
            .to_stream()
            .to(f"counts-{number:02d}")
        )
    return builder.build()
