"""CREATE OR REPLACE: filters and new columns are fine, everything that has state is not."""

import pytest

from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal

FIRST = "CREATE STREAM x AS SELECT id, price FROM orders;"
DISTINCT = "CREATE STREAM x AS SELECT DISTINCT id, price FROM orders;"
LAG = "CREATE STREAM x AS SELECT id, LAG(price) OVER (PARTITION BY id) AS p FROM orders;"
COUNTS = "CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;"
ROWS = "CREATE TABLE t AS SELECT kind, COUNT(*) AS n FROM items WHERE kind > 'a' GROUP BY kind;"


def replaced(statement: str) -> str:
    return statement.replace("CREATE", "CREATE OR REPLACE")


def test_filter_and_new_columns_keep_the_query() -> None:
    """The query keeps its id, and so its state."""
    engine = engine_of(
        ORDERS,
        FIRST,
        "CREATE OR REPLACE STREAM x AS SELECT id, price, item FROM orders WHERE id > 1;",
    )
    assert list(engine.queries) == ["CSAS_X_0"]
    assert columns_of(engine, "X") == "ID INTEGER KEY, PRICE INTEGER, ITEM STRING"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FIRST, "CREATE STREAM x AS SELECT id, item FROM orders;"),
        (FIRST, "CREATE STREAM x AS SELECT price, id FROM orders PARTITION BY price;"),
        (FIRST, "CREATE STREAM x AS SELECT id, price FROM others;"),
        (COUNTS, COUNTS.replace("COUNT(*)", "SUM(price)")),
        (ROWS, ROWS.replace("'a'", "'b'")),
        (ROWS, ROWS.replace(" WHERE kind > 'a'", "")),
        (FIRST, DISTINCT),
        (DISTINCT, DISTINCT.replace("price", "price, item")),
        (LAG, LAG.replace("(PARTITION BY id)", "(PARTITION BY item)")),
        (LAG, LAG.replace("LAG(price)", "LAG(price, 2)")),
        (FIRST, FIRST.replace(";", " UNION ALL SELECT id, price FROM others;")),
        (
            "CREATE TABLE y AS SELECT name, kind FROM items;",
            "CREATE TABLE y AS SELECT name, kind, rowtime AS t FROM items;",
        ),
        (COUNTS, COUNTS.replace("GROUP BY", "WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY")),
        (COUNTS, "CREATE TABLE t WITH (VALUE_FORMAT='AVRO') AS" + COUNTS.split("AS", 1)[1]),
    ],
)
def test_change_that_state_would_not_survive_is_refused(first: str, second: str) -> None:
    """The error says what changes."""
    others = ORDERS.replace("orders", "others")
    error = refusal(ORDERS, others, ITEMS, first, replaced(second))
    assert error.code == "cannot-upgrade"


DEFINED = "CREATE STREAM s (k INT KEY, a INT, b BIGINT) WITH (KAFKA_TOPIC='s', FORMAT='JSON');"


def test_definition_may_grow_at_its_end() -> None:
    """Columns behind the others hurt no query that reads the old ones."""
    engine = engine_of(DEFINED, replaced(DEFINED.replace("BIGINT", "BIGINT, c INT")))
    assert columns_of(engine, "S") == "K INTEGER KEY, A INTEGER, B BIGINT, C INTEGER"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a INT, b BIGINT", "a INT"),
        ("a INT, b BIGINT", "b BIGINT, a INT"),
        ("a INT", "a BIGINT"),
        ("k INT", "k BIGINT"),
        ("'s'", "'other'"),
        ("FORMAT='JSON'", "KEY_FORMAT='JSON', VALUE_FORMAT='AVRO'"),
        ("FORMAT='JSON'", "FORMAT='JSON', TIMESTAMP='b'"),
        ("STREAM s (k INT KEY", "TABLE s (k INT PRIMARY KEY"),
    ],
)
def test_definition_that_changes_otherwise_is_refused(old: str, new: str) -> None:
    """Queries that read the stream were planned for the columns and formats it has."""
    assert refusal(DEFINED, replaced(DEFINED.replace(old, new))).code == "cannot-upgrade"


def test_definition_keeps_its_row_ttl() -> None:
    """Running queries have deadlines for the rows that are there."""
    table = (
        "CREATE TABLE s (k INT PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='s', FORMAT='JSON',"
        " ROW_TTL='{}');"
    )
    error = refusal(table.format("1 HOUR"), replaced(table.format("2 HOURS")))
    assert error.code == "cannot-upgrade"
    assert "ROW_TTL" in error.message
    assert engine_of(table.format("1 HOUR"), replaced(table.format("60 MINUTES")))


def test_definition_does_not_replace_a_query() -> None:
    """What a query makes is replaced by another query, not by columns over its topic."""
    redefined = (
        "CREATE OR REPLACE STREAM x (id INT KEY, price INT) WITH (KAFKA_TOPIC='X', FORMAT='JSON');"
    )
    assert refusal(ORDERS, FIRST, redefined).code == "cannot-upgrade"
