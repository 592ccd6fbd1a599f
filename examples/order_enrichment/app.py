"""Orders meet users, products and payments: the three joins that most pipelines are made of.

- with a table: each order gets its user; both topics have the user's id as key
- with a global table: each order gets its product, looked up by a field, without repartition
- with a stream: each payment meets its order if they are at most 30 seconds apart
"""

from dataclasses import dataclass

from penstock import JoinWindows, StreamsBuilder, Topology

config = {"application.id": "order-enrichment"}


@dataclass(frozen=True)
class Order:
    order_id: str
    user_id: str
    product_id: str
    quantity: int


@dataclass(frozen=True)
class User:
    name: str
    country: str


@dataclass(frozen=True)
class Product:
    title: str
    price: float


@dataclass(frozen=True)
class Payment:
    order_id: str
    amount: float


@dataclass(frozen=True)
class UserOrder:
    order: Order
    user: User


@dataclass(frozen=True)
class PricedOrder:
    order_id: str
    title: str
    total: float


@dataclass(frozen=True)
class MatchedEvent:
    order: Order
    payment: Payment


def build() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", value=Order)
    users = builder.table("users", value=User)
    products = builder.global_table("products", value=Product)
    payments = builder.stream("payments", value=Payment)

    orders.join(users, UserOrder).to("orders-with-users", value=UserOrder)

    orders.join(
        products,
        lambda order, product: PricedOrder(
            order.order_id, product.title, product.price * order.quantity
        ),
        key=lambda _, order: order.product_id,
    ).to("orders-with-products", value=PricedOrder)

    orders_by_id = orders.select_key(lambda _, order: order.order_id)
    orders_by_id.join(
        payments,
        MatchedEvent,
        JoinWindows.of_time_difference_with_no_grace("30s"),
        name="order-payments",
        key=str,
        value=Order,
        other_value=Payment,
    ).to("matched-payments", value=MatchedEvent)
    return builder.build()
