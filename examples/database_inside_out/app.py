"""The database turned inside out: one log of facts, and three views that were made from it.

A database hides its log and shows one schema to everybody. Here the log ``products`` is what
services share, and each keeps the view it needs, with the fields it needs:

- search: which products have a word in their title
- analytics: how many products there are and what they cost, by category
- features: numbers for a model that suggests prices

A view that is lost, or wrong because of a bug, is dropped and made again from the log.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from penstock import (
    KafkaStreams,
    KTable,
    Processor,
    ProcessorContext,
    Record,
    Stores,
    StoreSpec,
    StreamsBuilder,
    Topology,
)

config = {"application.id": "database-inside-out"}


@dataclass(frozen=True)
class Product:
    title: str
    category: str
    price: float


@dataclass(frozen=True)
class Category:
    products: int = 0
    total_price: float = 0.0


@dataclass(frozen=True)
class Features:
    title_length: int
    is_cheap: bool


class IndexWords(Processor[str, Product | None, str, str]):
    """Says which words a product got and lost: ``+p-1`` and ``-p-1`` with the word as key."""

    @staticmethod
    def stores() -> list[StoreSpec]:
        titles = Stores.persistent_key_value_store("indexed-titles")
        return [Stores.key_value_store_builder(titles, str, str)]

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.titles = context.get_state_store("indexed-titles")

    def process(self, record: Record[str, Product | None]) -> None:
        before = words(self.titles.get(record.key) or "")
        title = "" if record.value is None else record.value.title
        self.titles.put(record.key, title or None)
        for sign, changed in (("-", before - words(title)), ("+", words(title) - before)):
            for word in sorted(changed):
                self.context.forward(record.with_key(word).with_value(sign + record.key))


def words(title: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", title.lower()))


def posted(found: frozenset[str], change: str) -> frozenset[str] | None:
    """Adds or removes a product; a word without products leaves the index."""
    product = {change[1:]}
    return (found | product if change[0] == "+" else found - product) or None


def search(products: KTable) -> None:
    (
        products.to_stream()
        .process(IndexWords, name="index-words")
        .group_by_key(name="words", key=str, value=str)
        .aggregate(
            frozenset,
            lambda _, change, found: posted(found, change),
            "search-index",
            value=frozenset[str],
        )
    )


def analytics(products: KTable) -> None:
    """A product that changes its category leaves the old sum: a table knows both values."""
    (
        products.group_by(
            lambda _, product: (product.category, product.price), key=str, value=float
        ).aggregate(
            Category,
            lambda _, price, so_far: Category(so_far.products + 1, so_far.total_price + price),
            lambda _, price, so_far: Category(so_far.products - 1, so_far.total_price - price),
            "categories",
            value=Category,
        )
    )


def features(products: KTable) -> None:
    products.map_values(
        lambda product: Features(len(product.title), product.price < 20),
        "features",
        value=Features,
    )


def build(*views: Callable[[KTable], None]) -> Topology:
    """One service for each view, or all of them in one application for the demonstration."""
    builder = StreamsBuilder()
    products = builder.table("products", value=Product, materialized="products")
    for view in views or (search, analytics, features):
        view(products)
    return builder.build()


search_alone = partial(build, search)
analytics_alone = partial(build, analytics)
features_alone = partial(build, features)


def show(streams: KafkaStreams) -> None:
    print("lamp is in", sorted(streams.store("search-index")["lamp"]))
    for category, found in sorted(streams.store("categories").all()):
        print(f"{category}: {found.products} products, {found.total_price:.2f} in all")
    print("p-1 as numbers:", streams.store("features")["p-1"])
