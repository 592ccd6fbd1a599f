"""Event collaboration: four services that never call each other.

    orders ──OrderPlaced──▶ payments ──PaymentProcessed──▶ inventory ──InventoryReserved──▶ notifier

Each service knows topics, and no other service. ``build()`` runs all of them in one application,
``penstock run app.py:payments_alone`` one of them, with an application id of its own. Analytics
came later and subscribes to what is there: no other service was changed for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from penstock import StreamsBuilder, Topology

config = {"application.id": "event-collaboration"}


@dataclass(frozen=True)
class OrderPlaced:
    order_id: str
    items: tuple[str, ...]
    amount: float
    email: str


@dataclass(frozen=True)
class PaymentProcessed:
    order_id: str
    status: str
    items: tuple[str, ...]
    email: str


@dataclass(frozen=True)
class InventoryReserved:
    order_id: str
    items: tuple[str, ...]
    email: str


@dataclass(frozen=True)
class NotificationSent:
    order_id: str
    channel: str


Service = Callable[[StreamsBuilder], None]


def payments(builder: StreamsBuilder) -> None:
    """Takes the money; amounts that no card allows are declined."""

    def pay(order: OrderPlaced) -> PaymentProcessed:
        status = "paid" if order.amount <= 1_000 else "declined"
        return PaymentProcessed(order.order_id, status, order.items, order.email)

    (
        builder.stream("orders-placed", value=OrderPlaced, name="payments-in")
        .map_values(pay)
        .to("payments-processed", value=PaymentProcessed, name="payments-out")
    )


def inventory(builder: StreamsBuilder) -> None:
    """Puts aside what was paid for."""
    (
        builder.stream("payments-processed", value=PaymentProcessed, name="inventory-in")
        .filter(lambda _, payment: payment.status == "paid")
        .map_values(lambda paid: InventoryReserved(paid.order_id, paid.items, paid.email))
        .to("inventory-reserved", value=InventoryReserved, name="inventory-out")
    )


def notifier(builder: StreamsBuilder) -> None:
    """Tells the customer."""
    (
        builder.stream("inventory-reserved", value=InventoryReserved, name="notifier-in")
        .map_values(lambda done: NotificationSent(done.order_id, "mail" if done.email else "post"))
        .to("notifications-sent", value=NotificationSent, name="notifier-out")
    )


def analytics(builder: StreamsBuilder) -> None:
    """Counts how payments end. It subscribes to an event that was there before it."""
    (
        builder.stream("payments-processed", value=PaymentProcessed, name="analytics-in")
        .group_by(lambda _, payment: payment.status, value=PaymentProcessed)
        .count("payments-by-status")
        .to_stream()
        .to("payment-statistics", name="analytics-out")
    )


def build(*services: Service) -> Topology:
    builder = StreamsBuilder()
    for service in services or (payments, inventory, notifier, analytics):
        service(builder)
    return builder.build()


payments_alone = partial(build, payments)
inventory_alone = partial(build, inventory)
notifier_alone = partial(build, notifier)
analytics_alone = partial(build, analytics)
