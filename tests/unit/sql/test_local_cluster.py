"""Queries over a cluster in memory: what stays when they end, and what goes with them."""

from __future__ import annotations

import json

import pytest

from penstock.errors import TopologyError
from penstock.sql import SqlEngine
from penstock.sql.queries.local_cluster import ClusterQueries, LocalCluster
from tests.unit.sql.queries import ORDERS, engine_of

COUNTS = "CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;"
MINUTES = """
CREATE TABLE m AS SELECT item, COUNT(*) AS n FROM orders
    WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY item;
"""
SINK = "CREATE STREAM sink AS SELECT id, item FROM orders;"
ONE = "INSERT INTO sink SELECT id, item FROM orders WHERE price > 1;"
TWO = "INSERT INTO sink SELECT id, item FROM orders WHERE price > 2;"


def order(cluster: LocalCluster, item: str = "tea", time: int = 0, price: int = 5) -> None:
    value = json.dumps({"ITEM": item, "PRICE": price}).encode()
    cluster.send("orders", b"1", value, time)


def rows(cluster: LocalCluster, topic: str) -> list[int]:
    return [json.loads(record.value or b"{}")["N"] for record in cluster.topic(topic)]


def run(cluster: LocalCluster, *statements: str) -> SqlEngine:
    engine = engine_of(*statements)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()
    return engine


def test_next_run_goes_on_where_the_last_one_ended() -> None:
    """State, offsets and fingerprint are the cluster's."""
    cluster = LocalCluster()
    for _ in range(3):
        order(cluster)
        run(cluster, ORDERS, COUNTS)
    assert rows(cluster, "T") == [1, 2, 3]


def test_window_that_was_closed_stays_closed_in_the_next_run() -> None:
    """Clocks are kept beside the stores."""
    cluster = LocalCluster()
    order(cluster, time=1_000)
    order(cluster, time=120_000)
    run(cluster, ORDERS, MINUTES)
    order(cluster, time=2_000)
    run(cluster, ORDERS, MINUTES)
    assert rows(cluster, "M") == [1, 1]


def test_query_that_was_dropped_and_made_anew_starts_from_the_beginning() -> None:
    """Its state goes with it, as in ksqlDB."""
    cluster = LocalCluster()
    order(cluster)
    engine = engine_of(ORDERS, COUNTS)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()
        engine.execute(f"DROP TABLE t; {COUNTS.replace('COUNT(*)', 'SUM(price)')}")
        queries.run_until_idle()
    assert rows(cluster, "T") == [1, 5]


def test_inserts_that_changed_places_are_refused() -> None:
    """Their offsets and rows would be swapped without a word; a name says which one is which."""
    cluster = LocalCluster()
    order(cluster)
    run(cluster, ORDERS, SINK, ONE, TWO)
    with pytest.raises(TopologyError) as caught:
        run(cluster, ORDERS, SINK, TWO, ONE)
    assert "WITH (QUERY_ID='INSERTQUERY_SINK_ORDERS_0')" in str(caught.value.fix)
    assert "price > 2" in caught.value.message
    second = TWO.replace("sink", "sink WITH (QUERY_ID='INSERTQUERY_SINK_ORDERS_1')")
    first = ONE.replace("sink", "sink WITH (QUERY_ID='INSERTQUERY_SINK_ORDERS_0')")
    run(cluster, ORDERS, SINK, second, first)
    order(cluster)
    run(cluster, ORDERS, SINK, second, first)
    assert len(cluster.topic("SINK")) == 6


def test_refused_script_leaves_everything_as_it_was() -> None:
    """The former script goes on."""
    cluster = LocalCluster()
    order(cluster)
    run(cluster, ORDERS, COUNTS)
    order(cluster)
    with pytest.raises(TopologyError, match="GROUP BY"):
        run(cluster, ORDERS, COUNTS.replace("item", "price"))
    run(cluster, ORDERS, COUNTS)
    assert rows(cluster, "T") == [1, 2]


def test_one_refused_query_keeps_all_queries_of_the_script_from_starting() -> None:
    """Nothing runs unless every statement is accepted."""
    cluster = LocalCluster()
    order(cluster)
    run(cluster, ORDERS, COUNTS)
    with pytest.raises(TopologyError):
        run(cluster, ORDERS, SINK, COUNTS.replace("item", "price"))
    assert cluster.topic("SINK") == []
    assert len(cluster.applications) == 1
