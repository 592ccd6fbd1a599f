"""``planner.cycles``: queries whose rows would come back to them."""

import pytest

from tests.unit.sql.queries import ORDERS, engine_of, refusal

COPY = ORDERS.replace("orders", "copy")
SAME = ORDERS.replace("STREAM orders", "STREAM again")
SAME_TOPIC = "CREATE STREAM t WITH (KAFKA_TOPIC='orders', PARTITIONS=1) AS SELECT * FROM orders;"


@pytest.mark.parametrize(
    ("statements", "way"),
    [
        ((ORDERS, "INSERT INTO orders SELECT * FROM orders;"), "ORDERS -> ORDERS"),
        ((ORDERS, SAME, "INSERT INTO again SELECT * FROM orders;"), "ORDERS -> AGAIN"),
        (
            (ORDERS, COPY, "INSERT INTO copy SELECT * FROM orders;",
             "INSERT INTO orders SELECT * FROM copy;"),
            "COPY -> ORDERS -> COPY",
        ),
        (
            (ORDERS, COPY, "CREATE STREAM mid AS SELECT * FROM orders;",
             "INSERT INTO copy SELECT * FROM mid;", "INSERT INTO orders SELECT * FROM copy;"),
            "COPY -> ORDERS -> MID -> COPY",
        ),
        (
            (ORDERS, SAME_TOPIC),
            "ORDERS -> T",
        ),
    ],
)  # fmt: skip
def test_rows_that_would_come_back_are_refused(statements: tuple[str, ...], way: str) -> None:
    """The error names the way of a row; topics count, not the names of streams."""
    error = refusal(*statements)
    assert error.code == "query-cycle"
    assert error.message.endswith(way)


def test_two_ways_to_one_stream_are_no_cycle() -> None:
    engine = engine_of(
        ORDERS,
        COPY,
        "CREATE STREAM mid AS SELECT * FROM orders;",
        "INSERT INTO copy SELECT * FROM orders;",
        "INSERT INTO copy SELECT * FROM mid;",
        "CREATE OR REPLACE STREAM mid AS SELECT * FROM orders WHERE price > 1;",
    )
    assert len(engine.queries) == 3
