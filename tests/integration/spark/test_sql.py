"""SQL on real Spark and real Kafka; all that SQL can do is tested in process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from penstock.sql import SqlEngine
from penstock.sql.queries.spark_queries import SparkQueries
from tests.sqlcases.cases import Case, cases_in
from tests.sqlcases.on_spark import problems_on_spark, skip_reason

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

_OWN = Path(__file__).parents[2] / "sqlcases" / "own"
_CASES = {
    case.name: case
    for file in sorted(_OWN.glob("*.json"))
    for case in cases_in(file)
    if skip_reason(case) is None
}


class Shop:
    """A script with topics and applications of its own, started as often as wanted."""

    def __init__(self, servers: str, folder: Path) -> None:
        self.name = f"shop{uuid4().hex[:8]}"
        self._config = {
            "bootstrap.servers": servers,
            "state.dir": str(folder),
            "commit.interval.ms": 20,
        }

    def start(self, *more: str) -> tuple[SqlEngine, SparkQueries]:
        engine = SqlEngine({"ksql.service.id": self.name})
        engine.execute(f"DEFINE p = '{self.name}';")
        engine.execute("""
            CREATE STREAM orders (id VARCHAR KEY, item VARCHAR, amount INT)
                WITH (KAFKA_TOPIC='${p}-orders', VALUE_FORMAT='JSON', PARTITIONS=2);
            CREATE STREAM large WITH (KAFKA_TOPIC='${p}-large') AS
                SELECT id, item, amount FROM orders WHERE amount > 10;
            CREATE TABLE sums WITH (KAFKA_TOPIC='${p}-sums') AS
                SELECT item, SUM(amount) AS total FROM large GROUP BY item;
        """)
        for statement in more:
            engine.execute(statement)
        return engine, engine.run_on_spark(self._config)


@pytest.fixture
def shop(spark: Any, kafka_broker: str, tmp_path: Path) -> Shop:
    return Shop(kafka_broker, tmp_path)


def insert(*rows: tuple[str, str, int]) -> list[str]:
    return [f"INSERT INTO orders VALUES {row};" for row in rows]


def test_queries_feed_each_other_and_a_restart_continues(
    shop: Shop, committed: Callable[[str], list[tuple[Any, Any]]]
) -> None:
    """The same script has the same query ids, so its applications are the same ones."""
    engine, running = shop.start(*insert(("1", "tea", 20), ("2", "tea", 5), ("3", "tea", 30)))
    with running:
        assert running.run_until_idle()
        assert engine.pull("SELECT * FROM sums").columns
    engine, running = shop.start(*insert(("4", "tea", 50)))
    with running:
        assert running.run_until_idle()
        rows = running.pull(engine.pull("SELECT item, total FROM sums ORDER BY total DESC"))
    assert rows == [{"ITEM": "tea", "TOTAL": 100}]
    values = [json.loads(value)["AMOUNT"] for _, value in committed(f"{shop.name}-large")]
    assert sorted(values) == [20, 30, 50]


def test_push_query_gives_rows_until_its_limit(shop: Shop) -> None:
    """SELECT ... EMIT CHANGES is an application whose rows nobody else sees."""
    engine, running = shop.start(*insert(("1", "tea", 20), ("1", "tea", 30)))
    with running:
        query = engine.query(
            "SELECT id, amount FROM orders WHERE amount > 10 EMIT CHANGES LIMIT 2;"
        )
        rows = list(running.select(query, timeout_s=60.0))
    assert rows == [{"ID": "1", "AMOUNT": 20}, {"ID": "1", "AMOUNT": 30}]


@pytest.mark.parametrize("name", sorted(_CASES)[:4])
def test_cases_agree_on_spark(spark: Any, kafka_broker: str, tmp_path: Path, name: str) -> None:
    """What a case expects in process, Spark commits to Kafka as well."""
    case: Case = _CASES[name]
    assert problems_on_spark(case, kafka_broker, str(tmp_path)) == []
