"""High-value orders: orders of more than 100 are kept and get the priority of their shipment.

The filter is an expression, so large batches run over columns; ``topology.explain()`` says so.
"""

from dataclasses import dataclass

from penstock import StreamsBuilder, Topology, col

config = {"application.id": "high-value-orders"}


@dataclass(frozen=True)
class Order:
    order_id: str
    amount: float


@dataclass(frozen=True)
class HighValueOrder:
    order_id: str
    amount: float
    shipping: str


def enrich(order: Order) -> HighValueOrder:
    return HighValueOrder(
        order.order_id, order.amount, "express" if order.amount > 500 else "priority"
    )


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("orders", value=Order)
        .filter(col("amount") > 100)
        .map_values(enrich)
        .to("high-value-orders", value=HighValueOrder)
    )
    return builder.build()
