"""Queries in place of sources, and queries that WITH names."""

import pytest

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


def test_inner_query_needs_no_name_and_no_key() -> None:
    """Its rows have no topic of their own; the outer query cannot have a key that it leaves out."""
    create = (
        "CREATE TABLE x AS SELECT item, COUNT(*) AS n FROM (SELECT item FROM orders) GROUP BY item;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 7, {"item": "fig"})
        assert script.read("X") == [("fig", {"N": 1})]
    error = refusal(ORDERS, "CREATE STREAM x AS SELECT * FROM (SELECT item FROM orders) s;")
    assert error.code == "missing-key"
    assert "the query S, which does not select it" in error.message


def test_inner_queries_without_names_are_told_apart() -> None:
    create = (
        "CREATE TABLE x AS SELECT a.item, n, m FROM (SELECT item, COUNT(*) AS n FROM orders GROUP"
        " BY item) a JOIN (SELECT item AS i, MAX(price) AS m FROM orders GROUP BY item)"
        " ON a.item = i;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 7, {"item": "fig", "price": 3})
        assert script.read("X")[-1] == ("fig", {"N": 1, "M": 3})


@pytest.mark.parametrize(
    ("selected", "seen"), [("item", 1), ("item, price", 2), ("id, item, price", 2)]
)
def test_distinct_inner_rows_without_their_key_are_told_apart_by_columns(
    selected: str, seen: int
) -> None:
    create = (
        "CREATE TABLE x AS SELECT item, COUNT(*) AS n FROM"
        f" (SELECT DISTINCT {selected} FROM orders) GROUP BY item;"
    )
    with running(ORDERS, create) as script:
        for key, price in ((1, 3), (2, 4), (1, 3)):
            script.pipe("orders", key, {"item": "fig", "price": price})
        assert script.read("X")[-1] == ("fig", {"N": seen})


@pytest.mark.parametrize("select", ["item, kind, p", "o_item AS item, i_kind AS kind, q.p"])
def test_columns_of_an_inner_star_keep_their_plain_names(select: str) -> None:
    """A star of a join names them ALIAS_NAME; the outer query may leave the alias out."""
    create = (
        f"CREATE STREAM x AS SELECT {select} FROM (SELECT o.*, i.*, price + 1 AS p FROM orders o"
        " JOIN items i ON o.item = i.name) q;"
    )
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"}, 1)
        script.pipe("orders", 7, {"item": "fig", "price": 3}, 2)
        assert script.read("X") == [("fig", {"KIND": "fruit", "P": 4})]


def test_plain_name_of_two_columns_is_not_known() -> None:
    create = (
        "CREATE STREAM x AS SELECT id FROM (SELECT a.*, b.* FROM orders a JOIN orders b"
        " WITHIN 1 HOUR ON a.id = b.id) q;"
    )
    assert refusal(ORDERS, create).code == "unknown-column"
