"""ROW_NUMBER and LAG OVER (...): a row and those before it."""

import pytest

from penstock.sql import SqlError
from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal, running


def test_rows_are_numbered_and_see_the_ones_before() -> None:
    """Each key counts for itself; a default stands where no row is."""
    create = (
        "CREATE STREAM x AS SELECT id, price - LAG(price) OVER (PARTITION BY id) AS d,"
        " LAG(price, 2, -1) OVER (PARTITION BY id) AS p, ROW_NUMBER() OVER (PARTITION BY id) AS n"
        " FROM orders;"
    )
    with running(ORDERS, create) as script:
        assert columns_of(script.engine, "X") == "ID INTEGER KEY, D INTEGER, P INTEGER, N BIGINT"
        for id_, price in [(1, 5), (1, 7), (2, 1), (1, None), (1, 4)]:
            script.pipe("orders", id_, {"price": price})
        script.pipe("orders", 1, None)
        assert [(key, *row.values()) for key, row in script.read("X")] == [
            (1, None, -1, 1),
            (1, 2, -1, 2),
            (2, None, -1, 1),
            (1, None, 5, 3),
            (1, None, 7, 4),
        ]
    assert not script.engine.topology().graph.internal_topics


def test_another_partition_keeps_the_key() -> None:
    """Rows meet behind a repartition topic and get their own key back, NULL or not."""
    create = (
        "CREATE STREAM x AS SELECT id, LAG(id) OVER (PARTITION BY UCASE(item)) AS i,"
        " ROW_NUMBER() OVER (PARTITION BY UCASE(item)) AS n FROM orders;"
    )
    with running(ORDERS, create) as script:
        for id_, item in [(1, "a"), (2, "b"), (3, "A"), (None, "a"), (5, None), (6, None)]:
            script.pipe("orders", id_, {"item": item})
        assert [(key, row["I"], row["N"]) for key, row in script.read("X")] == [
            (1, None, 1),
            (2, None, 1),
            (3, 1, 2),
            (None, 3, 3),
            (5, None, None),
            (6, None, None),
        ]


def test_order_by_time_drops_rows_that_come_late() -> None:
    """By arrival they are rows like any other."""
    create = (
        "CREATE STREAM {} AS SELECT id, ROW_NUMBER() OVER (PARTITION BY id {}) AS n FROM orders;"
    )
    by_time, by_arrival = create.format("x", "ORDER BY ROWTIME"), create.format("y", "")
    with running(ORDERS, by_time, by_arrival) as script:
        for time in (5, 3, 5, 9):
            script.pipe("orders", 1, {"price": 1}, time)
        assert script.times("X") == [5, 5, 9]
        assert [row["N"] for _, row in script.read("X")] == [1, 2, 3]
        assert script.times("Y") == [5, 3, 5, 9]


def test_an_outer_query_takes_the_first_rows() -> None:
    """The number is a column of the inner query."""
    create = (
        "CREATE STREAM x AS SELECT id, item FROM (SELECT id, item, ROW_NUMBER() OVER"
        " (PARTITION BY id, item) AS n FROM orders) q WHERE n = 1;"
    )
    with running(ORDERS, create) as script:
        for item in ("fig", "fig", "nut"):
            script.pipe("orders", 1, {"item": item})
        assert script.read("X") == [(1, {"ITEM": "fig"}), (1, {"ITEM": "nut"})]


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ("LEAD(price) OVER (PARTITION BY id)", "unknown-over"),
        ("SUM(price) OVER (PARTITION BY id)", "unknown-over"),
        ("COUNT(*) OVER (PARTITION BY id)", "unknown-over"),
        ("ROW_NUMBER() OVER ()", "over-without-partition"),
        ("ROW_NUMBER() OVER (PARTITION BY id ORDER BY price)", "over-order"),
        ("ROW_NUMBER() OVER (PARTITION BY id ORDER BY ROWTIME DESC)", "over-order"),
        ("LAG(price, 0) OVER (PARTITION BY id)", "over-rows"),
        ("LAG(price, 1, 'x') OVER (PARTITION BY id)", "over-default"),
        (
            "LAG(id) OVER (PARTITION BY id) AS a, LAG(id) OVER (PARTITION BY item) AS b",
            "several-overs",
        ),
    ],
)
def test_what_over_cannot_do_is_refused(items: str, code: str) -> None:
    """Each refusal has its own code."""
    error = refusal(ORDERS, f"CREATE STREAM x AS SELECT id, {items} FROM orders;")
    assert error.code == code


@pytest.mark.parametrize(
    ("create", "code"),
    [
        (
            "TABLE x AS SELECT name, LAG(kind) OVER (PARTITION BY kind) k FROM items",
            "over-on-table",
        ),
        (
            (
                "TABLE x AS SELECT item, ROW_NUMBER() OVER (PARTITION BY item) n, COUNT(*) c"
                " FROM orders GROUP BY item"
            ),
            "over-with-group-by",
        ),
        (
            "STREAM x AS SELECT * FROM orders WHERE ROW_NUMBER() OVER (PARTITION BY id) = 1",
            "misplaced-over",
        ),
    ],
)
def test_where_over_cannot_stand(create: str, code: str) -> None:
    """The error offers another way."""
    error = refusal(ORDERS, ITEMS, f"CREATE {create};")
    assert error.code == code
    assert error.fix


def test_over_may_still_be_a_name() -> None:
    """The word is a keyword only before a bracket."""
    engine_of(ORDERS, "CREATE STREAM over AS SELECT id, LEN(item) over FROM orders;")


def test_pull_queries_have_no_order_of_rows() -> None:
    """The rows of a table are not a sequence."""
    with pytest.raises(SqlError, match="pull-over"):
        engine_of(ITEMS).pull("SELECT ROW_NUMBER() OVER (PARTITION BY kind) FROM items;")


def test_a_constant_puts_all_rows_into_one_partition() -> None:
    """They meet in one task, whatever their key is."""
    create = "CREATE STREAM x AS SELECT id, ROW_NUMBER() OVER (PARTITION BY 1) AS n FROM orders;"
    with running(ORDERS, create) as script:
        for id_ in (3, 4):
            script.pipe("orders", id_, {"price": 1})
        assert script.read("X") == [(3, {"N": 1}), (4, {"N": 2})]
