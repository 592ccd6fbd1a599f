"""Names that SELECT gives, used in GROUP BY and HAVING."""

import pytest

from tests.unit.sql.queries import ORDERS, columns_of, engine_of, refusal, running


def test_group_by_takes_the_name_of_an_expression() -> None:
    """The key of the table has that name; HAVING uses the name of an aggregate."""
    create = (
        "CREATE TABLE x AS SELECT UCASE(item) AS what, SUM(price) AS total FROM orders"
        " GROUP BY what HAVING total > 2;"
    )
    with running(ORDERS, create) as script:
        assert columns_of(script.engine, "X") == "WHAT STRING PRIMARY KEY, TOTAL INTEGER"
        script.pipe("orders", 1, {"item": "fig", "price": 2})
        script.pipe("orders", 2, {"item": "FIG", "price": 1})
        script.pipe("orders", 3, {"item": "FIG", "price": -3})
        assert script.read("X") == [("FIG", {"TOTAL": 3}), ("FIG", None)]


def test_names_may_stand_inside_expressions() -> None:
    """A name is its expression, wherever it stands."""
    create = (
        "CREATE TABLE x AS SELECT LEN(item) AS size, COUNT(*) AS n FROM orders"
        " GROUP BY size HAVING n * size > 3;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 1, {"item": "fig"})
        script.pipe("orders", 2, {"item": "nut"})
        assert script.read("X") == [(3, {"N": 2})]


def test_a_column_comes_first_in_group_by() -> None:
    """ITEM is the column, not the upper-case text of the same name."""
    create = "CREATE TABLE x AS SELECT item AS what, COUNT(*) AS item FROM orders GROUP BY item;"
    assert columns_of(engine_of(ORDERS, create), "X") == "WHAT STRING PRIMARY KEY, ITEM BIGINT"


def test_having_prefers_the_aggregate_to_a_column_that_is_not_grouped() -> None:
    """A column that is not grouped could not stand there at all."""
    create = (
        "CREATE TABLE x AS SELECT item, SUM(price) AS price FROM orders"
        " GROUP BY item HAVING price > 2;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 1, {"item": "fig", "price": 2})
        script.pipe("orders", 2, {"item": "fig", "price": 2})
        assert script.read("X") == [("fig", {"PRICE": 4})]


def test_parameters_of_a_lambda_hide_names() -> None:
    """X in the lambda is its parameter."""
    engine_of(
        ORDERS,
        "CREATE TABLE t AS SELECT TRANSFORM(ARRAY[item], x => UCASE(x))[1] AS g, COUNT(*) AS x"
        " FROM orders GROUP BY TRANSFORM(ARRAY[item], x => UCASE(x))[1];",
    )


@pytest.mark.parametrize("name", ["n", "n + 1"])
def test_an_aggregate_cannot_be_grouped_by(name: str) -> None:
    """Groups come before aggregates."""
    create = f"CREATE TABLE x AS SELECT COUNT(*) AS n FROM orders GROUP BY {name};"
    assert refusal(ORDERS, create).code == "aggregate-in-group-by"
