"""A cut shows all stores as of one moment, also while everything flows and on several threads."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Producer

import penstock as ps

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Make = Callable[..., ps.KafkaStreams]

ACCOUNTS = 40
#: Each payment takes from one account what it gives to another one.
CENTS = 100


def ledger(source: str) -> ps.Topology:
    """Balances by account, behind a repartition, and their total, behind another one."""
    builder = ps.StreamsBuilder()
    payments = builder.stream(source, value=dict)
    moved = payments.flat_map(
        lambda _, payment: [
            (payment["from"], -payment["amount"]), (payment["to"], payment["amount"]),
        ]
    )  # fmt: skip
    balances = moved.group_by_key(key=str, value=int).aggregate(
        int, lambda _, amount, balance: balance + amount, "balances", value=int
    )
    balances.group_by(lambda _, balance: ("all", balance), key=str, value=int).aggregate(
        int,
        lambda _, balance, total: total + balance,
        lambda _, balance, total: total - balance,
        "total",
        value=int,
    )
    return builder.build()


@contextmanager
def paying(servers: str, source: str, seed: int) -> Iterator[None]:
    """Let payments flow inside the ``with`` block."""
    chance, is_over = random.Random(seed), threading.Event()
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 1})

    def pay() -> None:
        while not is_over.wait(0.005):
            giver, taker = (f"a{number}" for number in chance.sample(range(ACCOUNTS), 2))
            payment = {"from": giver, "to": taker, "amount": chance.randint(1, CENTS)}
            producer.produce(source, json.dumps(payment), giver)
            producer.poll(0)

    thread = threading.Thread(target=pay, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(30)
        assert producer.flush(30) == 0


@pytest.mark.parametrize("cuts", [12, pytest.param(1_000, marks=pytest.mark.slow)])
def test_sums_over_two_stores_agree_in_every_cut(
    streams_of: Make, new_topic: Any, kafka_broker: str, cuts: int
) -> None:
    """Money is only moved, so all balances and their total are nothing at any moment."""
    source = new_topic("payments", partitions=4)
    streams = streams_of(ledger(source), num_stream_threads=2, statestore_cache_max_bytes=0)
    streams.start()
    seen: set[tuple[tuple[str, int], ...]] = set()
    newest = -1
    with paying(kafka_broker, source, seed=7):
        while len(seen) < cuts:
            with streams.cut(timeout="60s") as cut:
                balances = dict(cut.store("balances").all())
                total = cut.store("total").get("all")
            assert cut.batch >= newest
            newest = cut.batch
            assert sum(balances.values()) == 0
            assert total in (0, None)
            if balances:
                seen.add(tuple(sorted(balances.items())))
