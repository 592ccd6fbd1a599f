"""A topology by hand: sources, a processor with a store, and a sink, without the DSL.

Transactions get the product that they name. Products that nobody has offered for a minute are
removed. The call for it comes every 30 seconds of stream time: as long as no record moves time
forward, nothing can be late, and nothing is removed.
"""

from dataclasses import dataclass

from penstock import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Stores,
    Topology,
    ValueAndTimestamp,
)

config = {"application.id": "product-enricher"}

STALE_AFTER_MS = 60_000


@dataclass(frozen=True)
class Transaction:
    product_id: str
    quantity: int


@dataclass(frozen=True)
class Product:
    title: str
    price: float


@dataclass(frozen=True)
class EnrichedTransaction:
    product_id: str
    quantity: int
    title: str
    total: float


class EnrichProcessor(Processor[str, Transaction | Product, str, EnrichedTransaction]):
    def init(self, context: ProcessorContext[str, EnrichedTransaction]) -> None:
        self.products = context.get_state_store("product-store")
        context.schedule("30s", PunctuationType.STREAM_TIME, self.remove_stale)

    def process(self, record: Record[str, Transaction | Product]) -> None:
        if isinstance(record.value, Product):
            self.products.put(record.key, ValueAndTimestamp(record.value, record.timestamp))
            return
        known = self.products.get(record.key)
        if known is not None:
            self.context.forward(record.with_value(enriched(record.value, known.value)))

    def remove_stale(self, stream_time: int) -> None:
        for key, row in list(self.products.all()):
            if stream_time - row.timestamp > STALE_AFTER_MS:
                self.products.delete(key)


def enriched(transaction: Transaction, product: Product) -> EnrichedTransaction:
    total = product.price * transaction.quantity
    return EnrichedTransaction(transaction.product_id, transaction.quantity, product.title, total)


def build() -> Topology:
    supplier = Stores.persistent_timestamped_key_value_store("product-store")
    store = Stores.timestamped_key_value_store_builder(supplier, str, Product)
    return (
        Topology()
        .add_source("transactions", "transactions", value=Transaction)
        .add_source("products", "products", value=Product)
        .add_processor("enricher", EnrichProcessor, "transactions", "products")
        .add_state_store(store, "enricher")
        .add_sink("sink", "enriched-transactions", "enricher", value=EnrichedTransaction)
    )
