"""Order pipeline: orders from an outbox are checked, priced from the catalog, and routed by kind.

``orders-raw`` is what a change data capture writes for each row of an outbox table;
``examples/outbox`` has that half. An event may come twice from there, so it is dropped here by its
id. From then on each order is processed exactly once.
"""

from dataclasses import dataclass

from penstock import (
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    FixedKeyRecord,
    Materialized,
    Stores,
    StoreSpec,
    StreamsBuilder,
    Topology,
)
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec

config = {"application.id": "order-pipeline", "processing.guarantee": "exactly_once_v2"}

#: For how long an event that comes again is known.
REMEMBERED_FOR = "1d"


@dataclass(frozen=True)
class OrderEvent:
    event_id: str
    order_id: str
    product_id: str
    quantity: int

    @property
    def is_valid(self) -> bool:
        return bool(self.order_id and self.product_id) and self.quantity > 0


@dataclass(frozen=True)
class Product:
    title: str
    price: float
    kind: str


@dataclass(frozen=True)
class ProcessedOrder:
    order_id: str
    title: str
    total: float
    kind: str


class OnlyOnce(FixedKeyProcessor[str, OrderEvent, OrderEvent]):
    @staticmethod
    def stores() -> list[StoreSpec]:
        seen = Stores.persistent_key_value_store("seen-events")
        return [Stores.key_value_store_builder(seen, str, int).with_ttl(REMEMBERED_FOR)]

    def init(self, context: FixedKeyProcessorContext[str, OrderEvent]) -> None:
        self.seen = context.get_state_store("seen-events")

    def process(self, record: FixedKeyRecord[str, OrderEvent]) -> None:
        if self.seen.get(record.value.event_id) is None:
            self.seen.put(record.value.event_id, record.timestamp)
            self.context.forward(record)


def priced(order: OrderEvent, product: Product) -> ProcessedOrder:
    total = product.price * order.quantity
    return ProcessedOrder(order.order_id, product.title, total, product.kind)


def build() -> Topology:
    builder = StreamsBuilder()
    catalog = builder.global_table(
        "product-catalog", value=Product, materialized=Materialized.as_("product-store")
    )
    checked = (
        builder.stream("orders-raw", value=OrderEvent)
        .split(name="order-")
        .branch(lambda _, order: order.is_valid, name="valid")
        .default_branch(name="invalid")
    )
    # An order that cannot be processed is kept for people to look at, not lost.
    checked["order-invalid"].to("rejected-orders", value=OrderEvent)
    (
        checked["order-valid"]
        .process_values(OnlyOnce, name="only-once")
        .join(catalog, priced, key=lambda _, order: order.product_id)
        # Each kind has a topic of its own: processed-orders-goods, processed-orders-services.
        .to(lambda _, order, __: f"processed-orders-{order.kind}", value=ProcessedOrder)
    )
    return builder.build()


def prepare(servers: str) -> None:
    """Topics whose names are made from records have to be there before the first of them."""
    Admin({"bootstrap.servers": servers}).create_topics(
        TopicSpec(f"processed-orders-{kind}", 2) for kind in ("goods", "services")
    )
