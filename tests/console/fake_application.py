"""A made-up application behind ``Queryable``: a real topology, figures that look like real ones.

It stands in for Kafka and Spark while pages are developed and while pictures of them are taken.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import penstock as ps
from penstock.config import StreamsConfig
from penstock.model.latencies import Latencies, bucket_of
from penstock.runtime.local.column_forms import explained
from penstock.runtime.settings import plan_fingerprint
from penstock.serde.serdes import Serdes
from penstock.serving.application import Instance, Row
from penstock.serving.status.program import source_lines
from penstock.serving.status.values import (
    ApplicationStatus,
    CommitStatus,
    CopyRole,
    CopyStatus,
    Failure,
    NodeStatus,
    Program,
    RestoreProgress,
    StoreStatus,
    TaskStatus,
    ThreadStatus,
    Waiting,
)
from penstock.state.spec import StoreKind
from penstock.topology.nodes import Sink, Source
from penstock.topology.upgrades.fingerprint import PlanFingerprint
from tests.console.fake_letters import ShopLetters
from tests.console.shop import build
from tests.unit.serving.memory_application import Cluster, MemoryApplication, store_info
from tests.unit.serving.memory_journeys import MemoryJourneys

THREADS, PARTITIONS = 4, 6
RATE = 12_400.0
CONFIG = StreamsConfig(
    {
        "application.id": "order-service",
        "default.key.serde": "string",
        "default.value.serde": "json",
    }
)
COUNTRIES = ("de", "fr", "it", "jp", "nl", "se", "us")


class Mood(StrEnum):
    """How the application is."""

    WELL = "well"
    BEHIND = "behind"
    WAITING = "waiting"
    RESTORING = "restoring"
    TROUBLED = "troubled"
    FAILED = "failed"


class FakeApplication(MemoryApplication):
    """An application that has been running for hours."""

    application_id = "order-service"

    def __init__(self, mood: Mood = Mood.WELL, topology: ps.Topology | None = None) -> None:
        super().__init__(_cluster(), "orders-1-4f2a")
        self.mood = mood
        self.built = topology or build()
        self.letters = ShopLetters(self.built, int(time.time() * 1000))
        self.tools = _orders(self.built)
        self.began = time.time() - 3 * 3600 - 740
        self._number = 108_200
        self._chosen = random.Random(7)
        for back in range(120, -1, -1):
            self.tick(time.time() - back)

    def now(self) -> float:
        return time.time()

    def tick(self, at: float | None = None) -> None:
        """Let some orders come in, change the stores, and commit."""
        at_ms = int((at or self.now()) * 1000)
        counts = {row.key: row.value for row in self.cluster.rows["orders-per-country"]}
        for country in self._chosen.choices(COUNTRIES, (30, 9, 8, 6, 4, 2, 12), k=4):
            self._change("orders-per-country", country, counts[country] + 1, at_ms)
            counts[country] += 1
        customer = f"c-{self._chosen.randrange(240):04d}"
        self._change("last-seen", customer, at_ms, at_ms)
        if self._chosen.random() < 0.2:
            moved = {"name": f"Customer {int(customer[2:])}", "country": "nl", "moved": True}
            self._change("customers", customer, moved, at_ms)
        self._number += 7
        self.cluster.commit(self._number)
        made = self.cluster.commits
        made[-1] = replace(made[-1], at_ms=at_ms)
        del made[:-300]

    def _change(self, store: str, key: str, value: Any, at_ms: int) -> None:
        cluster = self.cluster
        cluster.write(store, (key, value))
        partition = cluster.partition(store, key)
        log = cluster.logs[store, partition]
        log[-1] = change = log[-1]._replace(timestamp=at_ms)
        cluster.put(store, Row(key, value, at_ms))
        for name, listener in list(self.listeners):
            if name == store:
                listener([change])

    def topology(self) -> Mapping[str, Any]:
        described: Mapping[str, Any] = json.loads(self.built.to_json())
        return described

    def plan(self) -> PlanFingerprint:
        return plan_fingerprint(self.built.graph, CONFIG)

    def program(self) -> Program:
        forms = explained(self.built).parts
        return Program(
            sources=source_lines(self.built.graph),
            why_records={node: why for form in forms for node, why in form.why_not.items()},
            columnar=frozenset(form.subtopology for form in forms if form.is_vectorised),
        )

    def instances(self) -> Sequence[Instance]:
        return list(self.cluster.instances.values())

    def status(self, *, is_watched: bool) -> ApplicationStatus:
        now = self.now()
        state = {Mood.RESTORING: "REBALANCING", Mood.FAILED: "ERROR"}.get(self.mood, "RUNNING")
        records = self._total(now)
        at_ms = int(now * 1000)
        return ApplicationStatus(
            at_ms=at_ms,
            state=state,
            since_ms=int((self.began + 4) * 1000),
            started_ms=int((self.began + 6) * 1000),
            is_alive=state != "ERROR",
            waiting=_WAITING if self.mood is Mood.WAITING else None,
            error=_failure(at_ms - 42_000) if self.mood is Mood.FAILED else None,
            failures=_failures(at_ms) if self.mood is Mood.TROUBLED else (),
            records=int(records),
            sent=int(records * 1.31),
            logged=int(records * 0.62),
            commits=int((now - self.began) * 9.5),
            reruns=3 if self.mood is Mood.TROUBLED else 0,
            lag=self._lag(now),
            consumed={"orders": int(records * 0.9), "customers": int(records * 0.1)},
            latencies=_latencies(records),
            restoring=_restoring(now) if self.mood is Mood.RESTORING else (),
            threads=tuple(
                ThreadStatus(
                    name=f"order-service-StreamThread-{number + 1}",
                    host=f"worker-{number % 2 + 1}",
                    executor=str(number % 2),
                )
                for number in range(THREADS)
            ),
            tasks=self._tasks(now),
            nodes=self._nodes(records),
            stores=self._sizes(now),
            copies=() if self.mood is not Mood.RESTORING else _copies(),
            recent=self._commits(now),
        )

    def _is_moving(self) -> bool:
        return self.mood in (Mood.WELL, Mood.BEHIND, Mood.TROUBLED)

    def _total(self, now: float) -> float:
        """Return the integral of a rate that swings around ``RATE``."""
        if not self._is_moving():
            return RATE * 9_000
        t = now - self.began
        swing = 900 * 40 * (1 - math.cos(t / 40)) + 500 * 7 * (1 - math.cos(t / 7))
        return RATE * t + swing + 160 * 1.3 * math.sin(t * 1.7)

    def _lag(self, now: float) -> dict[str, dict[int, int]]:
        t = now - self.began
        base = 210.0 + 90 * math.sin(t / 9)
        if self.mood is Mood.BEHIND:
            base = 84_000 + 900 * (t % 3600)
        if self.mood is Mood.WAITING:
            base = 5_000 + 12_000 * (t % 60)
        share = (0.11, 0.13, 0.1, 0.34, 0.17, 0.15)
        orders = {part: int(base * share[part]) for part in range(PARTITIONS)}
        return {"orders": orders, "customers": dict.fromkeys(range(PARTITIONS), 0)}

    def _tasks(self, now: float) -> tuple[TaskStatus, ...]:
        records, found = self._total(now), []
        for part, share in ((0, 0.62), (2, 0.2), (3, 0.18)):
            for number in range(PARTITIONS):
                own = share * (0.34 if number == 3 else 0.132)
                found.append(
                    TaskStatus(
                        id=f"{part}_{number}",
                        thread=f"order-service-StreamThread-{number % THREADS + 1}",
                        records=int(records * own),
                        busy_ms=records * own * (0.11 if part == 0 else 0.034),
                        column_batches=0 if part == 0 else 91_000,
                        record_batches=91_000 if part == 0 else 12,
                    )
                )
        return tuple(found)

    def _nodes(self, records: float) -> tuple[NodeStatus, ...]:
        found = []
        for place, (name, node) in enumerate(self.built.graph.nodes.items()):
            share = _SHARES.get(name, 0.9 - 0.02 * (place % 20))
            cost = 400 if isinstance(node, Source | Sink) else 9_000 if node.stores else 2_100
            dropped = {"null-key": 1_204} if name.endswith("0000000006") else {}
            if name == "KSTREAM-AGGREGATE-0000000010":
                dropped = {"expired-window": 318}
            found.append(
                NodeStatus(
                    name=name,
                    records=int(records * share),
                    busy_ns=int(records * share * cost),
                    dropped=dropped,
                )
            )
        return tuple(found)

    def _sizes(self, now: float) -> tuple[StoreStatus, ...]:
        sizes = {
            "customers": 184_000, "revenue-per-minute": 41_300, "orders-per-country": 212,
            "visits": 96_400, "last-seen": 184_000,
        }  # fmt: skip
        return tuple(
            StoreStatus(
                name=name,
                partition=number,
                entries=int(count * (0.9 + 0.06 * number)) // PARTITIONS,
                size_bytes=int(count * 118 * (0.9 + 0.06 * number)) // PARTITIONS,
            )
            for name, count in sizes.items()
            for number in range(PARTITIONS)
        )

    def _commits(self, now: float) -> tuple[CommitStatus, ...]:
        last = int((now - self.began) * 9.5)
        found = []
        for number in range(last - 200, last + 1):
            took = 171 + 42 * math.sin(number / 3) + (140 if number % 41 == 0 else 0)
            busy = {
                str(n + 1): took * (0.42 + 0.07 * n) * (0.8 + 0.2 * math.sin(number + n))
                for n in range(THREADS)
            }
            found.append(
                CommitStatus(
                    number=number,
                    at_ms=int((self.began + number / 9.5) * 1000),
                    records=int(RATE / 9.5 * (1 + 0.2 * math.sin(number))),
                    took_ms=took,
                    working_ms=max(busy.values()),
                    threads={str(number % THREADS + 1): busy[str(number % THREADS + 1)]},
                )
            )
        return tuple(found)


_SHARES = {
    "KSTREAM-SOURCE-0000000000": 0.9,
    "KSTREAM-SOURCE-0000000001": 0.1,
    "KTABLE-SOURCE-0000000002": 0.1,
    "KSTREAM-SOURCE-0000000003": 0.0,
    "KTABLE-SOURCE-0000000004": 0.0,
    "KSTREAM-FILTER-0000000005": 0.9,
    "KTABLE-TOSTREAM-0000000014": 0.31,
    "KSTREAM-SINK-0000000015": 0.31,
}

_WAITING = Waiting(
    what="no answer from Kafka at kafka-1:9092, kafka-2:9092",
    fix="see whether the brokers run, and whether this machine reaches them",
)


def _failure(at_ms: int, count: int = 1) -> Failure:
    return Failure(
        at_ms=at_ms,
        code="user-function",
        message="node 'KSTREAM-FILTER-0000000005' raised KeyError('amount')\n"
        "  record: topic 'orders' partition 3 offset 88213 key 'o-17'",
        fix="handle the missing field, or set processing.exception.handler to continue",
        site="shop.py:28",
        count=count,
    )


def _failures(at_ms: int) -> tuple[Failure, ...]:
    lost = Failure(
        at_ms=at_ms - 1_340_000,
        code="worker-lost",
        message="the stream thread in slot 2 has ended: executor 1 on worker-2 is gone",
        fix="nothing: its tasks run on another executor",
    )
    return lost, _failure(at_ms - 20_000, 3)


def _copies() -> tuple[CopyStatus, ...]:
    return tuple(
        CopyStatus(
            store=store, partition=partition, instance="orders-2-9b07", role=CopyRole.STANDBY,
            lag=lag,
        )
        for store, partition, lag in (("customers", 1, 0), ("visits", 1, 214))
    )  # fmt: skip


def _restoring(now: float) -> tuple[RestoreProgress, ...]:
    def progress(store: str, partition: int, end: int, speed: float) -> RestoreProgress:
        done = int(end * (0.25 + (now * speed) % 0.6))
        return RestoreProgress(store=store, partition=partition, start=0, position=done, end=end)

    return (
        progress("customers", 1, 412_000, 0.011),
        progress("visits", 1, 96_000, 0.02),
        progress("revenue-per-minute", 4, 310_500, 0.014),
    )


def _latencies(records: float) -> Latencies:
    spread = {38: 0.05, 61: 0.3, 84: 0.38, 112: 0.18, 170: 0.07, 260: 0.015, 540: 0.005}
    counts: dict[int, float] = {}
    for value, share in spread.items():
        counts[bucket_of(value)] = records * share
    return Latencies(counts)


def _orders(topology: ps.Topology) -> MemoryJourneys:
    """Return topics with some orders of the last seconds."""
    tools = MemoryJourneys(topology, CONFIG)
    now = int(time.time() * 1000)
    for number in range(60):
        order = {"amount": round(4.5 + number * 1.37, 2), "product": f"p-{number % 12}"}
        if number % 17 == 3:
            order["amount"] = 0
        key = f"c-{number * 7 % 240:04d}".encode()
        at = now - (60 - number) * 700
        tools.add("orders", key, json.dumps(order).encode(), at, number % PARTITIONS)
    return tools


def _cluster() -> Cluster:
    string, number = Serdes.string(), Serdes.long()
    infos = [
        store_info("customers", partitions=PARTITIONS),
        store_info("products", is_global=True, partitions=1),
        store_info("orders-per-country", value=number, partitions=PARTITIONS),
        store_info("last-seen", StoreKind.KEY_VALUE, value=number, partitions=PARTITIONS),
        store_info(
            "revenue-per-minute", StoreKind.TIMESTAMPED_WINDOW, key=string, value=Serdes.double(),
            partitions=PARTITIONS, window_size_ms=60_000,
        ),
        store_info("visits", StoreKind.SESSION, value=number, partitions=PARTITIONS),
    ]  # fmt: skip
    cluster = Cluster({info.name: info for info in infos})
    names = [info.name for info in infos]
    everything = {name: tuple(range(PARTITIONS)) for name in names}
    cluster.instances = {
        "orders-1-4f2a": Instance(
            id="orders-1-4f2a", address="10.0.4.17:8080", is_leader=True, owned=everything
        ),
        "orders-2-9b07": Instance(id="orders-2-9b07", address="10.0.4.31:8080", copies=everything),
    }
    cluster.give("orders-1-4f2a")
    now = int(time.time() * 1000)
    for place in range(240):
        country = COUNTRIES[place % len(COUNTRIES)]
        cluster.write(
            "customers", (f"c-{place:04d}", {"name": f"Customer {place}", "country": country})
        )
    for place, country in enumerate(COUNTRIES):
        cluster.write("orders-per-country", (country, 18_200 + 977 * place))
        for minute in range(30):
            start = now // 60_000 * 60_000 - minute * 60_000
            revenue = round(310 + 40 * math.sin(minute + place), 2)
            row = Row(country, revenue, start + 30_000, start, start + 60_000)
            cluster.put("revenue-per-minute", row)
    for place in range(240):
        cluster.write("last-seen", (f"c-{place:04d}", now - place * 7_000))
    for place in range(12):
        cluster.put("products", Row(f"p-{place}", {"price": 9.5 + place, "name": f"Thing {place}"}))
        start = now - place * 400_000
        cluster.put("visits", Row(f"c-{place:04d}", 3 + place, None, start, start + 95_000))
    return cluster
