"""Joins of tables with windowed keys: ``joining.windows_of_sides``."""

import pytest

from tests.unit.sql.queries import ITEMS, ORDERS, Script, columns_of, engine_of, refusal, running

COUNTS = (
    "CREATE TABLE counts AS SELECT item, COUNT(*) AS n FROM orders"
    " WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY item;"
)
MOST = "CREATE TABLE most AS SELECT WINDOWSTART AS s, MAX(n) AS m FROM counts GROUP BY WINDOWSTART;"
BY_PRICE = (
    "CREATE TABLE prices AS SELECT price, LATEST_BY_OFFSET(item) AS item, WINDOWSTART AS s FROM"
    " orders WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY price;"
)


def _feed(script: Script) -> None:
    for time, item, price in ((1, "fig", 5), (2, "nut", 7), (3, "nut", 7), (12, "fig", 9)):
        script.pipe("orders", 1, {"item": item, "price": price}, time)


def test_windowed_table_finds_the_row_of_its_window() -> None:
    """Many windowed rows point at one row of the other table; they stay windowed."""
    create = (
        "CREATE TABLE t AS SELECT c.item AS item, n, m FROM counts c JOIN most m"
        " ON c.WINDOWSTART = m.s WHERE n = m;"
    )
    with running(ORDERS, COUNTS, MOST, create) as script:
        _feed(script)
        rows = script.engine.pull("SELECT item, WINDOWSTART AS s, n FROM t;")
        found = [tuple(row.values()) for row in rows.rows(script.queries.records)]
        assert sorted(found) == [("fig", 10, 1), ("nut", 0, 2)]


def test_windowed_table_is_joined_with_a_table_of_its_key() -> None:
    create = (
        "CREATE TABLE t AS SELECT c.item AS item, n, kind FROM counts c"
        " JOIN items i ON c.item = i.name;"
    )
    with running(ORDERS, ITEMS, COUNTS, create) as script:
        script.pipe("items", "nut", {"kind": "hard"}, 0)
        _feed(script)
        rows = script.engine.pull("SELECT item, n, kind FROM t;").rows(script.queries.records)
        assert rows == [{"ITEM": "nut", "N": 2, "KIND": "hard"}]


@pytest.mark.parametrize("bound", ["p.s = c.WINDOWSTART", "p.WINDOWEND = c.WINDOWEND"])
def test_other_side_may_have_other_windowed_keys(bound: str) -> None:
    """Its windows become a part of a plain key that the left rows point at."""
    create = (
        "CREATE TABLE t AS SELECT p.price AS price, p.item AS item, n FROM prices p JOIN counts c"
        f" ON p.item = c.item AND {bound};"
    )
    with running(ORDERS, COUNTS, BY_PRICE, create) as script:
        _feed(script)
        rows = script.engine.pull("SELECT price, item, n FROM t;").rows(script.queries.records)
        assert sorted(tuple(row.values()) for row in rows) == [
            (5, "fig", 1), (7, "nut", 2), (9, "fig", 1),
        ]  # fmt: skip


def test_stream_is_joined_with_the_row_of_a_window() -> None:
    create = (
        "CREATE STREAM t AS SELECT o.item AS item, c.WINDOWSTART AS s, n FROM orders o JOIN counts"
        " c ON o.item = c.item AND CAST(o.price AS BIGINT) = c.WINDOWSTART;"
    )
    engine = engine_of(ORDERS, COUNTS, create)
    assert columns_of(engine, "T") == "ITEM STRING KEY, S BIGINT KEY, N BIGINT"


def test_sessions_are_compared_at_both_ends() -> None:
    sessions = (
        "CREATE TABLE visits AS SELECT item, COUNT(*) AS n FROM orders"
        " WINDOW SESSION (5 MILLISECONDS) GROUP BY item;"
    )
    join = (
        "CREATE TABLE t AS SELECT p.price AS price, n FROM prices p"
        " JOIN visits v ON p.item = v.item"
    )
    both = f"{join} AND p.s = v.WINDOWSTART AND p.WINDOWEND = v.WINDOWEND;"
    assert engine_of(ORDERS, sessions, BY_PRICE, both).queries
    error = refusal(ORDERS, sessions, BY_PRICE, f"{join} AND p.s = v.WINDOWSTART;")
    assert (error.code, bool(error.fix)) == ("join-windows", True)


def test_equal_windows_are_joined_by_their_keys_whatever_on_says_about_them() -> None:
    sums = (
        "CREATE TABLE sums AS SELECT item, SUM(price) AS total FROM orders"
        " WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY item;"
    )
    join = "CREATE TABLE t AS SELECT c.item AS item, n, total FROM counts c FULL JOIN sums s ON"
    plain = f"{join} c.item = s.item;".replace("c.item AS item", "ROWKEY AS item")
    said = plain.replace(";", " AND c.WINDOWSTART = s.WINDOWSTART AND s.WINDOWEND = c.WINDOWEND;")
    described = [
        engine_of(ORDERS, COUNTS, sums, each).topology("CTAS_T_0").describe()
        for each in (plain, said)
    ]
    assert described[0] == described[1]


def test_windows_that_on_does_not_name_are_refused() -> None:
    create = (
        "CREATE TABLE t AS SELECT p.price AS price, n FROM prices p"
        " JOIN counts c ON p.item = c.item;"
    )
    error = refusal(ORDERS, COUNTS, BY_PRICE, create)
    assert error.code == "join-windows"
    assert "C.WINDOWSTART" in str(error.fix)
