"""Chained queries over topics in memory, each in a thread of its own, that cuts can stop."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from penstock.runtime.spark.driver.lanes.cut_part import CutPart
from penstock.runtime.spark.driver.lanes.stops import Stops
from penstock.server.querying import QueryServices
from penstock.server.reading import Place
from penstock.sql.catalog.catalog import PersistentQuery
from penstock.sql.queries.local import LocalQuery
from tests.unit.server.query_memory import MemoryHost, MemoryTopics

#: Each transaction moves an amount from one account to another, so all balances add up to 0.
BALANCES = """
    CREATE STREAM transactions (id INT KEY, from_account INT, to_account INT, amount INT)
        WITH (KAFKA_TOPIC='transactions', PARTITIONS=1, VALUE_FORMAT='JSON');
    CREATE TABLE credits WITH (KAFKA_TOPIC='credits') AS
        SELECT to_account AS account, SUM(amount) AS credits
        FROM transactions GROUP BY to_account EMIT CHANGES;
    CREATE TABLE debits WITH (KAFKA_TOPIC='debits') AS
        SELECT from_account AS account, SUM(amount) AS debits
        FROM transactions GROUP BY from_account EMIT CHANGES;
    CREATE TABLE balance WITH (KAFKA_TOPIC='balance') AS
        SELECT c.account AS account, credits - debits AS balance
        FROM credits c JOIN debits d ON c.account = d.account EMIT CHANGES;
    CREATE TABLE total WITH (KAFKA_TOPIC='total') AS
        SELECT 'all' AS everything, SUM(balance) AS total
        FROM balance GROUP BY 'all' EMIT CHANGES;
"""
ACCOUNTS = 10


class Running:
    """A query that reads its topics in batches of random size, and writes record by record."""

    def __init__(self, query: PersistentQuery, topics: MemoryTopics, seed: int) -> None:
        self.id = query.id
        self._topics = topics
        self._local = LocalQuery(query.id, f"app-{query.id}", query.topology)
        self._chance = random.Random(seed)
        self.positions: dict[Place, int] = dict.fromkeys(
            topics.places({source.topic for source in query.plan.sources}), 0
        )
        self._changed = threading.Condition(threading.RLock())
        self.stops = Stops(self.positions, self._changed)
        #: Held by whoever reads and writes, and by a cut.
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self.is_stuck = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut_part(self) -> CutPart:
        return CutPart(_Run(self, self.stops))

    def begin_anew(self) -> None:
        """Go on as a new run: the stops of the old one are gone."""
        with self._turn:
            self.stops = Stops(self.positions, self._changed)

    @contextlib.contextmanager
    def held(self, stops: Stops, timeout_s: float) -> Iterator[int | None]:
        if not self._turn.acquire(timeout=timeout_s):
            yield None
            return
        try:
            yield 1 if stops is self.stops else None
        finally:
            self._turn.release()

    def _run(self) -> None:
        while not self._closing.wait(self._chance.random() * 0.002):
            if not self.is_stuck:
                with self._turn:
                    self._batch()

    def _batch(self) -> None:
        most = self._chance.randint(1, 9)
        ends = self.stops.within(self._topics.ends(self.positions))
        planned = {p: (at, min(max(ends[p], at), at + most)) for p, at in self.positions.items()}
        ranges = self.stops.admit(0, planned)
        for (topic, number), (start, end) in ranges.items():
            for record in self._topics.partitions[topic][number][start:end]:
                for made in self._local.pipe(topic, record.key, record.value, record.timestamp):
                    self._topics.add(made.topic, made.key, made.value, made.timestamp)
        with self._changed:
            self.positions.update({place: end for place, (_, end) in ranges.items()})
            self._changed.notify_all()

    def close(self) -> None:
        self._closing.set()
        self._thread.join(10)
        self._local.close()


class _Run:
    """One run of a query, as its part in a cut sees it."""

    def __init__(self, running: Running, stops: Stops) -> None:
        self.stops = stops
        self._running = running

    def hold(self, timeout_s: float) -> contextlib.AbstractContextManager[int | None]:
        return self._running.held(self.stops, timeout_s)


class Host(MemoryHost):
    """A catalog whose queries run."""

    def __init__(self, topics: MemoryTopics) -> None:
        super().__init__(topics)
        self.queries: dict[str, Running] = {}

    def running(self, query_id: str) -> Any:
        return self.queries.get(query_id)


class ChainedWorld:
    """The balances of accounts over five statements, and money that moves."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.topics = MemoryTopics()
        self.host = Host(self.topics)
        self._chance = random.Random(seed)
        self.host.engine.execute(BALANCES, answers=False)
        for source in self.host.engine.sources.values():
            self.topics.create(source.topic)
        self._sent = 0
        # An account whose other side is missing is in no balance.
        for account in range(ACCOUNTS):
            self.move(account, account, 1)
        self.services = QueryServices(self.host, self.topics, folder)
        for number, query in enumerate(self.host.engine.catalog.queries.values()):
            self.host.queries[query.id] = Running(query, self.topics, seed + number)

    def move(self, giver: int, taker: int, amount: int) -> None:
        value = {"FROM_ACCOUNT": giver, "TO_ACCOUNT": taker, "AMOUNT": amount}
        key = self._sent.to_bytes(4, "big")
        self.topics.add("transactions", key, orjson.dumps(value), self._sent)
        self._sent += 1

    @contextlib.contextmanager
    def moving(self) -> Iterator[None]:
        """Let money move inside the block."""
        is_over = threading.Event()

        def run() -> None:
            while not is_over.wait(0.001):
                giver, taker = self._chance.sample(range(ACCOUNTS), 2)
                self.move(giver, taker, self._chance.randint(1, 100))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join(10)

    def pull(self, sql: str, cut: str | int = "latest") -> tuple[int, list[tuple[Any, ...]]]:
        """Answer a query from a cut; return the cut's number, and the rows."""
        return self.ask(sql, {"penstock.read.cut": str(cut)})

    def ask(
        self, sql: str, settings: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, list[tuple[Any, ...]]]:
        """Answer a query from the cut that its text or the settings name."""
        pull = self.services.pull
        bound = pull.plan(sql, settings, {})
        fresh = pull.at_cut(bound, pull.freshness(bound, settings, {}))
        assert fresh.cut is not None
        return fresh.cut.number, [tuple(row) for row in pull.rows(bound, fresh)]

    def query(self, sink: str) -> Running:
        """Return the query that writes a topic."""
        queries = self.host.engine.catalog.queries.values()
        found = next(q for q in queries if q.plan.sink is not None and q.plan.sink.topic == sink)
        return self.host.queries[found.id]

    def close(self) -> None:
        self.services.close()
        for each in self.host.queries.values():
            each.close()
