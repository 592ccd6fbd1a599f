"""Joins on keys of several columns, of a source with itself, and on several foreign keys."""

import pytest

from tests.unit.sql.queries import ORDERS, columns_of, engine_of, refusal, running

PRICES = (
    "CREATE TABLE prices (shop VARCHAR PRIMARY KEY, what VARCHAR PRIMARY KEY, each INT)"
    " WITH (KAFKA_TOPIC='prices', FORMAT='JSON');"
)
SALES = (
    "CREATE STREAM sales (id INT KEY, shop VARCHAR, item VARCHAR)"
    " WITH (KAFKA_TOPIC='sales', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON');"
)
STOCK = (
    "CREATE TABLE stock (place VARCHAR PRIMARY KEY, thing VARCHAR PRIMARY KEY, n INT)"
    " WITH (KAFKA_TOPIC='stock', FORMAT='JSON');"
)


def test_full_join_has_a_key_column_for_each() -> None:
    """Either side may be missing, so neither side's columns are the key."""
    create = (
        "CREATE TABLE x AS SELECT * FROM prices p FULL JOIN stock s"
        " ON p.shop = s.place AND p.what = s.thing;"
    )
    with running(PRICES, STOCK, create) as script:
        assert columns_of(script.engine, "X").startswith(
            "ROWKEY STRING PRIMARY KEY, ROWKEY_1 STRING PRIMARY KEY, P_SHOP STRING,"
        )
        script.pipe("stock", {"PLACE": "a", "THING": "fig"}, {"N": 1})
        script.pipe("prices", {"SHOP": "a", "WHAT": "fig"}, {"EACH": 2})
        (_, first), (key, second) = script.read("X")
        assert (first["P_EACH"], first["S_N"]) == (None, 1)
        assert (second["P_EACH"], second["S_N"]) == (2, 1)
        assert key == {"ROWKEY": "a", "ROWKEY_1": "fig"}


def test_a_third_join_goes_on_with_the_same_key() -> None:
    """What equals the key needs no repartition, column by column."""
    create = (
        "CREATE TABLE x AS SELECT a.place, b.thing, a.n AS n, b.n AS m, c.n AS o FROM stock a"
        " JOIN stock b ON a.place = b.place AND a.thing = b.thing"
        " JOIN stock c ON b.place = c.place AND a.thing = c.thing;"
    )
    engine = engine_of(STOCK, create)
    assert not engine.topology().graph.internal_topics
    assert columns_of(engine, "X").startswith("A_PLACE STRING PRIMARY KEY, B_THING STRING")


def test_a_stream_joins_itself() -> None:
    """Each record is on both sides, so that it is its own partner, too."""
    create = (
        "CREATE STREAM x AS SELECT a.id, a.price AS p, b.price AS q FROM orders a"
        " JOIN orders b WITHIN 1 SECOND ON a.id = b.id;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 1, {"price": 1}, 0)
        script.pipe("orders", 1, {"price": 2}, 5)
        pairs = [(row["P"], row["Q"]) for _, row in script.read("X")]
        assert sorted(pairs) == [(1, 1), (1, 2), (2, 1), (2, 2)]
        assert len(pairs) == 4


def test_self_join_on_another_column_is_repartitioned() -> None:
    """One side keeps its key, the other goes through a topic."""
    create = (
        "CREATE STREAM x AS SELECT b.price, a.id AS i, b.id AS j FROM orders a"
        " JOIN orders b WITHIN 1 SECOND ON a.id = b.price;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 1, {"price": 7}, 0)
        script.pipe("orders", 2, {"price": 1}, 0)
        assert script.read("X") == [(1, {"B_PRICE": 1, "J": 2})]


@pytest.mark.parametrize(
    ("join", "code"),
    [
        ("sales s JOIN prices p ON s.shop = p.shop", "join-on-non-key"),
        ("sales s JOIN prices p ON s.shop = p.shop AND s.id = p.what", "join-types"),
        ("sales s JOIN prices p ON s.id > 1 AND p.each > 2", "join-condition"),
    ],
)
def test_keys_that_do_not_fit_are_refused(join: str, code: str) -> None:
    """The error names the columns of the key."""
    error = refusal(SALES, PRICES, f"CREATE STREAM x AS SELECT * FROM {join};")
    assert error.code == code
    assert error.fix
