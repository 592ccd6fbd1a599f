"""Eight Nexmark queries in one pool, on Kafka and Spark: each has the rows of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.nexmark.compare import differences
from bench.nexmark.duck import Duck
from bench.nexmark.events import Event, events
from bench.nexmark.queries import ours, side_input, sources
from bench.nexmark.topics import fill
from penstock.kafka.admin import Admin
from penstock.sql import SqlEngine

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

NAMES = ("q3", "q4", "q5", "q8", "q9", "q15", "q18", "q19")
EVENTS = list(events(1_000, per_second=20))


@pytest.fixture
def servers(spark: Any, kafka_broker: str, kafka_admin: Admin) -> Iterator[str]:
    yield kafka_broker
    own = [topic for topic in kafka_admin.topics() if "nexmark" in topic]
    kafka_admin.delete_topics(own, missing_ok=True)


def _of(*kinds: str) -> list[Event]:
    return [event for event in EVENTS if event.kind in kinds]


def test_queries_in_one_pool_have_the_rows_of_duckdb(servers: str, tmp_path: Path) -> None:
    """People and auctions are there before the bids: a stream finds rows that are there."""
    engine = SqlEngine({"ksql.service.id": "nexmark", "ksql.output.topic.name.prefix": "nexmark-"})
    engine.execute(sources() + "".join(map(ours, NAMES)))
    fill(servers, _of("person", "auction"), side_input(len(EVENTS)))
    config = {"bootstrap.servers": servers, "state.dir": str(tmp_path), "commit.interval.ms": 50}
    with engine.run_on_spark(config) as running:
        assert running.run_until_idle()
        fill(servers, _of("bid"), {})
        assert running.run_until_idle()
        found = {name: running.pull(engine.pull(f"SELECT * FROM {name};")) for name in NAMES}
    duck = Duck(EVENTS, side_input(len(EVENTS)))
    wrong = {name: differences(found[name], duck.rows(name)) for name in NAMES}
    assert wrong == {name: [] for name in NAMES}
