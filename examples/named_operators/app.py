"""Named operators: a program that can grow without losing its state.

Operators without a name are numbered, and the numbers are part of the names of stores and topics.
Insert one operator, and all numbers behind it move: the store is looked for under another name.
With a name for each, version 2 (one more filter) goes on with the state of version 1.
"""

from dataclasses import dataclass

from penstock import Repartitioned, StreamsBuilder, Topology

config = {"application.id": "customer-orders"}


@dataclass(frozen=True)
class Order:
    order_id: str
    customer_id: str
    amount: float


@dataclass(frozen=True)
class CustomerOrders:
    orders: int = 0
    amount: float = 0.0

    def add(self, order: Order) -> "CustomerOrders":
        return CustomerOrders(self.orders + 1, self.amount + order.amount)


def build(version: int = 2) -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", value=Order, name="orders").filter(
        lambda _, order: order is not None, name="filter-null-orders"
    )
    if version == 2:
        orders = orders.filter(lambda _, order: order.amount > 0, name="filter-free-orders")
    by_customer = Repartitioned(name="repartition-by-customer", key=str, value=Order)
    (
        orders.select_key(lambda _, order: order.customer_id, by_customer)
        .group_by_key()
        .aggregate(
            CustomerOrders,
            lambda _, order, so_far: so_far.add(order),
            "customer-orders-store",
            value=CustomerOrders,
        )
        .to_stream(name="changes")
        .to("customer-orders", name="customer-orders")
    )
    return builder.build()


def build_without_names(version: int = 2) -> Topology:
    """The same without names, for comparison: its store and its topics move with version 2."""
    builder = StreamsBuilder()
    orders = builder.stream("orders", value=Order).filter(lambda _, order: order is not None)
    if version == 2:
        orders = orders.filter(lambda _, order: order.amount > 0)
    (
        orders.group_by(lambda _, order: order.customer_id)
        .aggregate(
            CustomerOrders,
            lambda _, order, so_far: so_far.add(order),
            value=CustomerOrders,
        )
        .to_stream()
        .to("customer-orders")
    )
    return builder.build()
