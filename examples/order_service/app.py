"""A stream processor inside a service: its settings, its health, its end.

Orders with an amount are priced with tax and passed on, exactly once. ``/health/ready`` of
``application.server`` is what a load balancer or Kubernetes asks; ``health`` is the same for a web
framework that has a health page of its own.
"""

import os
from dataclasses import dataclass

from penstock import KafkaStreams, StreamsBuilder, Topology

config = {
    "application.id": "order-stream-processor",
    "processing.guarantee": "exactly_once_v2",
    "num.stream.threads": int(os.environ.get("THREADS", "4")),
    "replication.factor": int(os.environ.get("REPLICAS", "1")),
    "statestore.cache.max.bytes": 10 * 1024 * 1024,
    "application.server": f"localhost:{os.environ.get('PORT', '8080')}",
}

TAX = 0.19


@dataclass(frozen=True)
class Order:
    order_id: str
    amount: float


@dataclass(frozen=True)
class ProcessedOrder:
    order_id: str
    net: float
    gross: float


def enrich(order: Order) -> ProcessedOrder:
    return ProcessedOrder(order.order_id, order.amount, round(order.amount * (1 + TAX), 2))


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("orders", value=Order)
        .filter(lambda _, order: order.amount > 0)
        .map_values(enrich)
        .to("processed-orders", value=ProcessedOrder)
    )
    return builder.build()


def health(streams: KafkaStreams) -> dict[str, str]:
    """UP while records are processed; a rebalance or an error is DOWN, with the state as detail."""
    state = streams.state.value
    return {"status": "UP" if state == "RUNNING" else "DOWN", "state": state}


def show(streams: KafkaStreams) -> None:
    print(health(streams))
