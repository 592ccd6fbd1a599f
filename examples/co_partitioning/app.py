"""Co-partitioning: what two topics need before they can be joined, and what happens without it.

Partition 3 of one topic meets partition 3 of the other, and no other one. So both need the same
number of partitions and the same key. Orders have the order's id as key and products the product's:
``build_wrong`` joins them as they are. With 4 and 6 partitions it is refused, with 4 and 4 it runs
and finds nothing, which is worse. ``build`` gives orders the key of products first.
"""

from dataclasses import dataclass

from penstock import StreamsBuilder, Topology

config = {"application.id": "co-partitioning"}


@dataclass(frozen=True)
class Order:
    order_id: str
    product_id: str
    quantity: int


@dataclass(frozen=True)
class Product:
    title: str
    price: float


@dataclass(frozen=True)
class PricedOrder:
    order_id: str
    title: str
    total: float


def priced(order: Order, product: Product) -> PricedOrder:
    return PricedOrder(order.order_id, product.title, product.price * order.quantity)


def build() -> Topology:
    builder = StreamsBuilder()
    products = builder.table("products", value=Product)
    (
        builder.stream("orders", value=Order)
        # The new key sends the orders through a topic with as many partitions as products has.
        .select_key(lambda _, order: order.product_id)
        .join(products, priced, name="by-product", key=str, value=Order)
        .to("priced-orders", value=PricedOrder)
    )
    return builder.build()


def build_wrong() -> Topology:
    builder = StreamsBuilder()
    products = builder.table("products", value=Product)
    (
        builder.stream("orders", value=Order)
        .join(products, priced)
        .to("priced-orders", value=PricedOrder)
    )
    return builder.build()
