"""Queries in place of sources, and queries that WITH names."""

from tests.unit.sql.queries import ITEMS, ORDERS, refusal, running

NESTED = (
    "CREATE TABLE t AS SELECT n, COUNT(*) AS items FROM"
    " (SELECT item, COUNT(*) AS n FROM orders GROUP BY item) AS counts GROUP BY n;"
)


def test_aggregate_of_an_aggregate() -> None:
    """A group whose row changes leaves its old group."""
    with running(ORDERS, NESTED) as script:
        for item in ("fig", "nut", "fig"):
            script.pipe("orders", 1, {"item": item})
        final = dict(script.read("T"))
        assert final == {1: {"ITEMS": 1}, 2: {"ITEMS": 1}}


def test_common_table_is_used_by_name() -> None:
    """WITH names a query; it can be joined like any source."""
    create = (
        "CREATE STREAM x AS WITH dear AS (SELECT id, item, price FROM orders WHERE price > 5)"
        " SELECT d.item, kind, price FROM dear d JOIN items i ON d.item = i.name;"
    )
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("orders", 1, {"item": "fig", "price": 3})
        script.pipe("orders", 2, {"item": "fig", "price": 9})
        assert script.read("X") == [("fig", {"KIND": "fruit", "PRICE": 9})]


def test_inner_stream_has_time_and_key() -> None:
    """The rows of an inner stream know their time."""
    create = "CREATE STREAM x AS SELECT k, rowtime AS t FROM (SELECT id AS k, item FROM orders) s;"
    with running(ORDERS, create) as script:
        script.pipe("orders", 7, {"item": "fig"}, 42)
        assert script.read("X") == [(7, {"T": 42})]


def test_inner_query_needs_a_name_and_its_key() -> None:
    """It is planned as if it were a table or stream of its own."""
    create = "CREATE STREAM x AS SELECT * FROM"
    assert refusal(ORDERS, f"{create} (SELECT * FROM orders);").code == "subquery-without-alias"
    assert refusal(ORDERS, f"{create} (SELECT item FROM orders) s;").code == "missing-key"
