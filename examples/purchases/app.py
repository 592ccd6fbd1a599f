"""Purchases: card numbers are masked first; buying patterns, rewards and the rest follow.

The source is the only place where a whole card number exists: every topic behind it is made of
masked purchases.
"""

from dataclasses import dataclass, replace

from penstock import StreamsBuilder, Topology

config = {"application.id": "purchases"}


@dataclass(frozen=True)
class Purchase:
    customer_id: str
    card_number: str
    item: str
    quantity: int
    price: float
    zip_code: str

    def masked(self) -> "Purchase":
        """The last four digits are what a receipt shows."""
        return replace(self, card_number="xxxx-xxxx-xxxx-" + self.card_number[-4:])


@dataclass(frozen=True)
class PurchasePattern:
    """What is bought where; nothing about who."""

    zip_code: str
    item: str
    amount: float


@dataclass(frozen=True)
class Reward:
    customer_id: str
    points: int


def pattern(purchase: Purchase) -> PurchasePattern:
    return PurchasePattern(purchase.zip_code, purchase.item, purchase.price * purchase.quantity)


def reward(purchase: Purchase) -> Reward:
    """A point for every whole unit of money."""
    return Reward(purchase.customer_id, int(purchase.price * purchase.quantity))


def build() -> Topology:
    builder = StreamsBuilder()
    purchases = builder.stream("transactions", value=Purchase).map_values(Purchase.masked)
    purchases.map_values(pattern).to("patterns", value=PurchasePattern)
    purchases.map_values(reward).to("rewards", value=Reward)
    purchases.to("purchases", value=Purchase)
    return builder.build()
