"""IN (SELECT ...) and EXISTS: rows with a partner in a table, or without one."""

import pytest

from penstock.model.sql.errors import ParseError
from penstock.sql.syntax.parser import parse_statement
from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, refusal, running


def test_rows_of_a_stream_with_a_partner_pass() -> None:
    """The table decides at the moment of the row; columns and key stay those of the stream."""
    create = "CREATE STREAM x AS SELECT * FROM orders WHERE item IN (SELECT name FROM items);"
    with running(ORDERS, ITEMS, create) as script:
        assert columns_of(script.engine, "X") == "ID INTEGER KEY, ITEM STRING, PRICE INTEGER"
        script.pipe("orders", 1, {"item": "fig", "price": 1})
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("orders", 2, {"item": "fig", "price": 2})
        script.pipe("orders", 3, {"item": None, "price": 3})
        script.pipe("orders", None, {"item": "fig", "price": 4})
        script.pipe("items", "fig", None)
        script.pipe("orders", 5, {"item": "fig", "price": 5})
        assert [(key, row["PRICE"]) for key, row in script.read("X")] == [(2, 2), (None, 4)]


def test_a_value_that_is_not_a_key_is_grouped_first() -> None:
    """It is there as long as one row has it."""
    create = (
        "CREATE STREAM x AS SELECT id, price FROM orders"
        " WHERE item IN (SELECT kind FROM items WHERE LEN(name) > 1);"
    )
    with running(ORDERS, ITEMS, create) as script:
        for name, kind in [("fig", "fruit"), ("kiwi", "fruit"), ("a", "tree")]:
            script.pipe("items", name, {"kind": kind})
        script.pipe("items", "fig", None)
        script.pipe("orders", 1, {"item": "fruit", "price": 1})
        script.pipe("orders", 2, {"item": "tree", "price": 2})
        script.pipe("items", "kiwi", {"kind": "bird"})
        script.pipe("orders", 3, {"item": "fruit", "price": 3})
        assert script.read("X") == [(1, {"PRICE": 1})]


def test_not_exists_keeps_rows_with_null_and_not_in_does_not() -> None:
    """NULL is equal to nothing, so it has no partner; but it is not outside of a list either."""
    create = "CREATE STREAM {} AS SELECT id, price FROM orders o WHERE {};"
    exists = create.format("x", "NOT EXISTS (SELECT * FROM items i WHERE o.item = i.name)")
    not_in = create.format("y", "item NOT IN (SELECT name FROM items)")
    with running(ORDERS, ITEMS, exists, not_in) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        for id_, item in enumerate(["fig", "nut", None]):
            script.pipe("orders", id_, {"item": item, "price": 1})
        assert [key for key, _ in script.read("X")] == [1, 2]
        assert [key for key, _ in script.read("Y")] == [1]


def test_several_equalities_and_conditions() -> None:
    """All must hold for one and the same row of the table."""
    create = (
        "CREATE STREAM x AS SELECT id, item FROM orders WHERE price > 0 AND EXISTS"
        " (SELECT 1 FROM items WHERE name = item AND kind = UCASE(item) AND LEN(kind) = 3);"
    )
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "FIG"})
        script.pipe("items", "kiwi", {"kind": "KIWI"})
        script.pipe("items", "nut", {"kind": "FIG"})
        for id_, item in enumerate(["fig", "kiwi", "nut"]):
            script.pipe("orders", id_, {"item": item, "price": 1})
        assert script.read("X") == [(0, {"ITEM": "fig"})]


def test_groups_can_be_looked_into() -> None:
    """The inner query may group; its rows are a table."""
    create = (
        "CREATE STREAM x AS SELECT id, item FROM orders WHERE item IN"
        " (SELECT kind FROM items GROUP BY kind HAVING COUNT(*) > 1) OR price = 7;"
    )
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("orders", 1, {"item": "fruit", "price": 1})
        script.pipe("orders", 2, {"item": "fruit", "price": 7})
        script.pipe("items", "kiwi", {"kind": "fruit"})
        script.pipe("orders", 3, {"item": "fruit", "price": 1})
        assert [key for key, _ in script.read("X")] == [2, 3]


def test_pull_queries_look_into_other_tables() -> None:
    """Both tables are read as they are now."""
    kinds = (
        "CREATE TABLE kinds (kind VARCHAR PRIMARY KEY, n INT)"
        " WITH (KAFKA_TOPIC='a', FORMAT='JSON');"
    )
    with running(ITEMS, kinds) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("items", "oak", {"kind": "tree"})
        script.pipe("a", "fruit", {"n": 1})
        query = script.engine.pull("SELECT name FROM items WHERE kind IN (SELECT kind FROM kinds);")
        assert query.rows(script.queries.records) == [{"NAME": "fig"}]


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("item IN (SELECT item FROM orders)", "subquery-of-stream"),
        ("item IN (SELECT name, kind FROM items)", "subquery-columns"),
        ("item IN (SELECT * FROM items)", "subquery-columns"),
        ("item NOT IN (SELECT kind FROM items)", "not-in-nulls"),
        ("NOT (item IN (SELECT name FROM items))", "misplaced-subquery"),
        (
            "CASE WHEN EXISTS (SELECT 1 FROM items WHERE name = item) THEN TRUE END",
            "misplaced-subquery",
        ),
        ("EXISTS (SELECT 1 FROM items)", "exists-condition"),
        ("EXISTS (SELECT 1 FROM items WHERE name > item)", "exists-condition"),
        ("EXISTS (SELECT 1 FROM items WHERE name = item AND price > 5)", "exists-condition"),
        ("price IN (SELECT name FROM items)", "join-types"),
    ],
)
def test_what_cannot_be_asked_is_refused(where: str, code: str) -> None:
    """Each refusal has its own code and says what to do."""
    error = refusal(ORDERS, ITEMS, f"CREATE STREAM x AS SELECT * FROM orders WHERE {where};")
    assert error.code == code
    assert error.fix


def test_not_in_may_say_that_there_are_no_nulls() -> None:
    """Then the answer does not depend on them."""
    create = (
        "CREATE STREAM x AS SELECT id, item FROM orders WHERE item NOT IN"
        " (SELECT kind FROM items WHERE kind IS NOT NULL);"
    )
    with running(ORDERS, ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": None})
        script.pipe("items", "oak", {"kind": "tree"})
        for id_, item in enumerate(["tree", "fruit"]):
            script.pipe("orders", id_, {"item": item, "price": 1})
        assert script.read("X") == [(1, {"ITEM": "fruit"})]


def test_a_query_as_a_value_is_refused_by_name() -> None:
    """The error offers joins."""
    with pytest.raises(ParseError, match="in the place of a value") as refused:
        parse_statement("SELECT * FROM s WHERE a = (SELECT MAX(b) FROM t) EMIT CHANGES;")
    assert refused.value.fix
