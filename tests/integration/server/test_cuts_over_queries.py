"""Answers from cuts over chained queries, in Kafka and Spark, while stream threads are killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer

pytest.importorskip("granian", reason="needs penstock[server]")

from penstock.server.sql_server import SqlServer
from tests.integration.server.processes import Rest
from tests.integration.server.test_commands import wait_for
from tests.integration.spark.instances import process_of

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
Start = Callable[..., SqlServer]
ACCOUNTS = 10
PARTITIONS = 4
ROWS = "SELECT account, balance FROM balance;"
ALONE = "SELECT account, balance FROM alone;"
TOTAL = "SELECT total FROM total WHERE everything = 'all';"


def script(service: str) -> str:
    """Balances in one query, and over chained queries whose total must be 0."""
    topics = {n: f"KAFKA_TOPIC='{service}{n}'" for n in ("credits", "debits", "balance", "total")}
    return f"""
        CREATE STREAM transactions (id INT KEY, from_account INT, to_account INT, amount INT)
            WITH (KAFKA_TOPIC='{service}tx', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS});
        CREATE TABLE credits WITH ({topics["credits"]}) AS
            SELECT to_account AS account, SUM(amount) AS credits
            FROM transactions GROUP BY to_account EMIT CHANGES;
        CREATE TABLE debits WITH ({topics["debits"]}) AS
            SELECT from_account AS account, SUM(amount) AS debits
            FROM transactions GROUP BY from_account EMIT CHANGES;
        CREATE TABLE balance WITH ({topics["balance"]}) AS
            SELECT c.account AS account, credits - debits AS balance
            FROM credits c JOIN debits d ON c.account = d.account EMIT CHANGES;
        CREATE TABLE total WITH ({topics["total"]}) AS
            SELECT 'all' AS everything, SUM(balance) AS total
            FROM balance GROUP BY 'all' EMIT CHANGES;
        CREATE TABLE alone WITH (KAFKA_TOPIC='{service}alone') AS
            SELECT move->account AS account, SUM(move->change) AS balance
            FROM (
                SELECT EXPLODE(ARRAY[
                    STRUCT(account := from_account, change := 0 - amount),
                    STRUCT(account := to_account, change := amount)
                ]) AS move
                FROM transactions EMIT CHANGES
            )
            GROUP BY move->account EMIT CHANGES;
    """


class Bank:
    """Moves money: each transaction takes from one account what it gives to another one."""

    def __init__(self, servers: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 1})
        self._topic = topic
        self._chance = random.Random(30)
        self.sent = 0
        # An account whose other side is missing is in no balance.
        for account in range(ACCOUNTS):
            self._move(account, account, 1)
        self._producer.flush()

    def _move(self, giver: int, taker: int, amount: int) -> None:
        value = {"FROM_ACCOUNT": giver, "TO_ACCOUNT": taker, "AMOUNT": amount}
        self._producer.produce(self._topic, json.dumps(value), self.sent.to_bytes(4, "big"))
        self.sent += 1

    @contextlib.contextmanager
    def moving(self, most: int, pause_s: float) -> Iterator[threading.Event]:
        """Move money inside the block; the event is set after so many transactions."""
        is_over, is_done = threading.Event(), threading.Event()

        def run() -> None:
            while self.sent < most and not is_over.wait(pause_s):
                for _ in range(5):
                    giver, taker = self._chance.sample(range(ACCOUNTS), 2)
                    self._move(giver, taker, self._chance.randint(1, 100))
                self._producer.poll(0)
            self._producer.flush()
            is_done.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield is_done
        finally:
            is_over.set()
            thread.join(30)


def pull(client: httpx.Client, sql: str, cut: str = "latest") -> tuple[int, list[Any]]:
    """Return the number of the cut that has answered, and the rows."""
    answer = client.post(
        "/query-stream", json={"sql": sql, "properties": {}}, headers={"penstock-cut": cut}
    )
    assert answer.status_code == 200, answer.text
    rows = [json.loads(line) for line in answer.text.splitlines()[1:]]
    return int(answer.headers["penstock-cut"]), rows


def kill_a_thread(server: SqlServer) -> None:
    """End the process of a stream thread that works for the queries."""
    found = {
        process_of(endpoint)
        for query_id in server.node.engine.queries
        if (application := server.node.running(query_id)) is not None
        and (runner := application._runner()) is not None
        for endpoint in runner.placement.endpoints.values()
    }
    if found:
        os.kill(min(found), signal.SIGKILL)


@pytest.mark.parametrize(
    ("most", "pulls", "kills"),
    [(2_000, 100, 1), pytest.param(20_000, 2_000, 4, marks=[pytest.mark.slow])],
)
def test_the_total_of_all_balances_is_0_in_every_answer_while_threads_are_killed(
    start: Start, service: str, kafka_broker: str, most: int, pulls: int, kills: int
) -> None:
    """In one query and over chained queries, over 4 partitions; and both say the same."""
    server = start(commit_interval_ms="100")
    rest = Rest(server.url)
    rest.ksql(script(service))
    bank = Bank(kafka_broker, f"{service}tx")
    wrong, numbers, differences, late = [], set[int](), 0, 0
    with httpx.Client(base_url=server.url, timeout=120.0) as client:
        wait_for(lambda: len(answered(client, ROWS)) == ACCOUNTS, "not all accounts", 120.0)
        wait_for(lambda: len(answered(client, TOTAL)) == 1, "no total", 120.0)
        began, killed = time.monotonic(), 0
        with pushed(server.url) as totals, bank.moving(most, 0.02) as is_done:
            for asked in range(pulls):
                number, chained = pull(client, ROWS)
                numbers.add(number)
                late = max(late, int(time.time() * 1000) - number)
                wrong += [chained] if sum(balance for _, balance in chained) else []
                _, total = pull(client, TOTAL)
                wrong += [total] if total != [[0]] else []
                if asked % 10 == 0:
                    again, alone = pull(client, ALONE)
                    wrong += [alone] if sum(balance for _, balance in alone) else []
                    with contextlib.suppress(AssertionError):
                        # The cut may be gone by now.
                        _, same = pull(client, ROWS, str(again))
                        differences += dict(same) != dict(alone)
                        named, same = pull(client, f"{ROWS[:-1]} AS OF CUT {again};", "none")
                        differences += named != again or dict(same) != dict(alone)
                if asked * (kills + 1) >= pulls * (killed + 1):
                    kill_a_thread(server)
                    killed += 1
            seconds = time.monotonic() - began
            assert is_done.wait(300)
        wait_for(lambda: sorted(answered(client, ROWS)) == sorted(answered(client, ALONE)), "late")
    print(f"{pulls} pulls, {len(numbers)} cuts, {seconds:.0f} s, latest {late} ms, {killed} kills")
    assert (wrong, differences, killed) == ([], 0, kills)
    assert len(numbers) > kills
    assert len(totals) > kills
    assert set(totals) == {0}


@contextlib.contextmanager
def pushed(url: str) -> Iterator[list[int]]:
    """Collect what a push query over cuts sends of the total, inside the block."""
    found: list[int] = []
    is_over = threading.Event()
    asked = {"sql": "SELECT total FROM total EMIT CHANGES;", "properties": {}}

    def run() -> None:
        with (
            httpx.Client(base_url=url, timeout=120.0) as client,
            client.stream(
                "POST", "/query-stream", json=asked, headers={"penstock-cut": "latest"}
            ) as answer,
        ):
            for line in answer.iter_lines():
                if line.startswith("["):
                    found.extend(json.loads(line))
                if is_over.is_set():
                    return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield found
    is_over.set()
    thread.join(60)


def answered(client: httpx.Client, sql: str) -> list[Any]:
    try:
        return pull(client, sql)[1]
    except AssertionError:
        return []
