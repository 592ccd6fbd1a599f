"""CREATE OR REPLACE: filters and new columns are fine, everything that has state is not."""

import pytest

from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal

FIRST = "CREATE STREAM x AS SELECT id, price FROM orders;"
COUNTS = "CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;"


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
