"""Fraud detection: one user, too many payments, too much money or too many places in 5 minutes.

The window has no grace by default: a payment that arrives after its five minutes are over is
not looked at. ``build(grace="1m")`` waits for late ones, ``Thresholds`` sets the tone.
"""

from dataclasses import dataclass, replace

from penstock import Materialized, StreamsBuilder, TimeWindows, Topology

config = {"application.id": "fraud-detection"}


@dataclass(frozen=True)
class Transaction:
    id: str
    user_id: str
    amount: float
    location: str


@dataclass(frozen=True)
class Thresholds:
    """What is still normal for one user within one window."""

    transactions: int = 5
    amount: float = 10_000.0
    locations: int = 2


@dataclass(frozen=True)
class FraudState:
    """What one user did within one window."""

    last_transactions: tuple[str, ...] = ()
    count: int = 0
    total_amount: float = 0.0
    locations: frozenset[str] = frozenset()

    def add(self, transaction: Transaction) -> "FraudState":
        return replace(
            self,
            last_transactions=(*self.last_transactions, transaction.id)[-5:],
            count=self.count + 1,
            total_amount=self.total_amount + transaction.amount,
            locations=self.locations | {transaction.location},
        )

    def is_suspicious(self, limits: Thresholds) -> bool:
        return (
            self.count > limits.transactions
            or self.total_amount > limits.amount
            or len(self.locations) > limits.locations
        )


def build(grace: str = "0s", limits: Thresholds = Thresholds()) -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("transactions", value=Transaction)
        .group_by(lambda _, transaction: transaction.user_id)
        .windowed_by(TimeWindows.of_size("5m").grace(grace))
        .aggregate(
            FraudState,
            lambda _, transaction, state: state.add(transaction),
            Materialized.as_("fraud-store"),
            value=FraudState,
        )
        .to_stream()
        .filter(lambda _, state: state.is_suspicious(limits))
        .select_key(lambda window, _: window.key)
        .to("fraud-alerts", key=str)
    )
    return builder.build()
