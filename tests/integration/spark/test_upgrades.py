"""Changed scripts and programs over state in real Kafka: refused, or continued rightly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app
from penstock.errors import TopologyError
from penstock.kafka.admin import Admin
from penstock.sql import SqlEngine
from penstock.sql.queries.spark_queries import SparkQueries

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]

SCRIPT = """
CREATE STREAM orders (id VARCHAR KEY, item VARCHAR, price INT)
    WITH (KAFKA_TOPIC='{p}-orders', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE totals WITH (KAFKA_TOPIC='{p}-totals') AS
    SELECT item, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY item;
"""


class Shop:
    """A script over topics of its own, run as often as wanted."""

    def __init__(self, servers: str, folder: Path) -> None:
        self.name = f"shop{uuid4().hex[:8]}"
        self.script = SCRIPT.format(p=self.name)
        self.folder = folder
        self.servers = servers

    @property
    def totals(self) -> str:
        return f"{self.name}-totals"

    @property
    def application_id(self) -> str:
        return f"_confluent-ksql-{self.name}query_CTAS_TOTALS_0"

    def start(self, script: str) -> tuple[SqlEngine, SparkQueries]:
        engine = SqlEngine({"ksql.service.id": self.name})
        engine.execute(script)
        config = {
            "bootstrap.servers": self.servers,
            "state.dir": str(self.folder / "state"),
            "commit.interval.ms": 20,
        }
        return engine, engine.run_on_spark(config)

    def run(self, script: str) -> None:
        _, running = self.start(script)
        with running:
            assert running.run_until_idle()

    def plan(self, script: str) -> tuple[int, str]:
        file = self.folder / "shop.sql"
        file.write_text(script)
        service = f"ksql.service.id={self.name}"
        done = CliRunner().invoke(app, ["plan", str(file), "-b", self.servers, "-c", service])
        return done.exit_code, done.output


@pytest.fixture
def shop(spark: Any, kafka_broker: str, tmp_path: Path) -> Shop:
    return Shop(kafka_broker, tmp_path)


def orders(*prices: int) -> str:
    return "".join(f"INSERT INTO orders VALUES ('1', 'tea', {price});\n" for price in prices)


def last(records: list[tuple[Any, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(records[-1][1])
    return found


def test_swapped_columns_are_refused_and_the_old_script_goes_on(
    shop: Shop, committed: Records
) -> None:
    """The state of COUNT would go on as that of SUM, and the other way round."""
    assert shop.plan(shop.script)[0] == 0
    shop.run(shop.script + orders(100, 30))
    swapped = shop.script.replace(
        "COUNT(*) AS n, SUM(price) AS total", "SUM(price) AS total, COUNT(*) AS n"
    )
    code, told = shop.plan(swapped)
    assert code == 1
    assert "- aggregate COUNT(*)" in told
    with pytest.raises(TopologyError) as caught:
        shop.start(swapped)
    assert caught.value.code == "plan-changed"
    shop.run(shop.script + orders(1))
    assert last(committed(shop.totals)) == {"N": 3, "TOTAL": 131}
    code, told = shop.plan(shop.script)
    assert (code, "1 unchanged" in told) == (0, True)


def test_same_names_over_another_topic_are_refused_until_the_application_is_reset(
    shop: Shop, committed: Records, kafka_admin: Admin
) -> None:
    """Totals of one topic are no start for those of another; a reset begins with nothing."""
    shop.run(shop.script + orders(100, 30))
    moved = shop.script.replace(f"{shop.name}-orders", f"{shop.name}-others")
    with pytest.raises(TopologyError, match=f"topic '{shop.name}-others'"):
        shop.start(moved)
    reset = ["reset", "--application-id", shop.application_id, "-b", shop.servers, "--yes",
             "--state-dir", str(shop.folder / "state")]  # fmt: skip
    assert CliRunner().invoke(app, reset).exit_code == 0
    shop.run(moved + orders(7))
    assert last(committed(shop.totals)) == {"N": 1, "TOTAL": 7}


def test_running_query_is_replaced_with_its_state_and_dropped_without(
    shop: Shop, committed: Records, kafka_admin: Admin
) -> None:
    """CREATE OR REPLACE reaches Spark; DROP deletes topics, group and folder."""
    engine, running = shop.start(shop.script + orders(100, 30))
    create = shop.script[shop.script.index("CREATE TABLE") :]
    with running:
        assert running.run_until_idle()
        replaced = create.replace("TABLE", "OR REPLACE TABLE", 1)
        engine.execute(replaced.replace("GROUP BY", "WHERE price > 5 GROUP BY"))
        running.sync()
        engine.execute(orders(1, 10))
        assert running.run_until_idle()
        assert last(committed(shop.totals)) == {"N": 3, "TOTAL": 140}
        engine.execute(f"DROP TABLE totals; {create}")
        assert running.run_until_idle()
        assert last(committed(shop.totals)) == {"N": 4, "TOTAL": 141}
        engine.execute("DROP TABLE totals;")
        running.sync()
    left = [name for name in kafka_admin.topics() if name.startswith(shop.application_id)]
    assert left == []
    assert shop.application_id not in [group.id for group in kafka_admin.groups()]


def test_program_with_a_filter_before_its_state_is_refused(
    streams_of: Callable[..., ps.KafkaStreams],
    topics: tuple[str, str],
    produce: Callable[..., None],
) -> None:
    """What can be known of a program is compared, too; steps behind the state are free."""

    def counts(*, filters: str = "") -> ps.Topology:
        builder = ps.StreamsBuilder()
        stream = builder.stream(topics[0])
        stream = stream.filter(lambda key, value: True) if filters == "before" else stream
        table = stream.group_by_key().count("counts")
        table = table.filter(lambda key, n: n > 0) if filters == "behind" else table
        table.to_stream().to(topics[1])
        return builder.build()

    produce(topics[0], ("a", "x"), ("a", "y"))
    for filters in ("", "behind"):
        with streams_of(counts(filters=filters)) as streams:
            assert streams.run_until_idle("300s")
    with pytest.raises(TopologyError) as caught:
        streams_of(counts(filters="before")).start()
    assert caught.value.code == "plan-changed"
    assert "+ filter" in caught.value.message


def test_accepted_plan_goes_on_with_the_state_of_the_former_program(
    streams_of: Callable[..., ps.KafkaStreams],
    topics: tuple[str, str],
    produce: Callable[..., None],
    committed: Records,
) -> None:
    """A filter and a mapping before a named repartition keep the counts, as in Kafka Streams."""

    def counts(*, adds_steps: bool) -> ps.Topology:
        builder = ps.StreamsBuilder()
        stream = builder.stream(topics[0]).select_key(lambda key, value: value[0])
        if adds_steps:
            stream = stream.filter(lambda key, value: value != "a-bad").map_values(str.upper)
        grouped = stream.group_by_key(ps.Grouped.as_("by-letter"))
        grouped.count("counts").to_stream().map_values(str).to(topics[1])
        return builder.build()

    produce(topics[0], ("1", "a-one"), ("2", "a-bad"))
    with streams_of(counts(adds_steps=False)) as streams:
        assert streams.run_until_idle("300s")
    with pytest.raises(TopologyError) as caught:
        streams_of(counts(adds_steps=True)).start()
    accepted = str(caught.value.fix).partition("penstock.accepted.plan=")[2].partition(",")[0]
    produce(topics[0], ("3", "a-two"), ("4", "a-bad"))
    with streams_of(counts(adds_steps=True), penstock_accepted_plan=accepted) as streams:
        assert streams.run_until_idle("300s")
    assert committed(topics[1])[-1] == (b"a", b"3")
