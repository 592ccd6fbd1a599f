"""SELECT DISTINCT: each row once, and gone when no row of its kind is left."""

import pytest

from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal, running


def test_each_row_of_a_stream_comes_once() -> None:
    """The key is part of the row; NULLs are equal; a record without a value is no row."""
    create = "CREATE STREAM x AS SELECT DISTINCT id, item FROM orders;"
    with running(ORDERS, create) as script:
        for id_, item in [(1, "fig"), (1, "fig"), (2, "fig"), (None, None), (None, None), (1, "a")]:
            script.pipe("orders", id_, {"item": item, "price": 1})
        script.pipe("orders", 1, None)
        assert script.read("X") == [
            (1, {"ITEM": "fig"}),
            (2, {"ITEM": "fig"}),
            (None, {"ITEM": None}),
            (1, {"ITEM": "a"}),
        ]


def test_the_first_row_decides_the_time_however_late_the_others_are() -> None:
    """A repeated row of the past is not a new one."""
    create = "CREATE STREAM x AS SELECT DISTINCT id, item FROM orders;"
    with running(ORDERS, create) as script:
        script.pipe("orders", 1, {"item": "fig"}, 50)
        script.pipe("orders", 1, {"item": "fig"}, 10)
        assert script.times("X") == [50]


def test_a_row_is_forgotten_after_its_time_to_live() -> None:
    """A repeated row does not renew it."""
    create = (
        "CREATE STREAM x WITH (ROW_TTL='10 MILLISECONDS') AS SELECT DISTINCT id, item FROM orders;"
    )
    with running(ORDERS, create) as script:
        for time in (0, 9, 10, 19, 20):
            script.pipe("orders", 1, {"item": "fig"}, time)
        assert script.times("X") == [0, 10, 20]


def test_push_queries_compare_what_they_show() -> None:
    """The key of the stream is not in the SELECT, so it does not count."""
    with running(ORDERS) as script:
        query = script.engine.query("SELECT DISTINCT item FROM orders EMIT CHANGES;")
        rows = script.queries.subscribe(query)
        for id_, item in enumerate(["fig", "fig", "nut"]):
            script.pipe("orders", id_, {"item": item})
        assert rows.rows == [{"ITEM": "fig"}, {"ITEM": "nut"}]


def test_a_table_of_the_rows_of_a_stream() -> None:
    """Its key is the row; AS_VALUE gives it a value."""
    create = "CREATE TABLE x AS SELECT DISTINCT UCASE(item) AS i, AS_VALUE(item) AS v FROM orders;"
    assert refusal(ORDERS, create).code == "not-grouped"
    create = "CREATE TABLE x AS SELECT DISTINCT item, AS_VALUE(item) AS v, 1 AS one FROM orders;"
    with running(ORDERS, create) as script:
        assert columns_of(script.engine, "X") == "ITEM STRING PRIMARY KEY, V STRING, ONE INTEGER"
        script.pipe("orders", 1, {"item": "fig"})
        script.pipe("orders", 2, {"item": None})
        assert script.read("X") == [("fig", {"V": "fig", "ONE": 1})]


def test_the_last_row_of_its_kind_takes_it_away() -> None:
    """Rows of a table change and go; a distinct row stays as long as one of them has it."""
    create = "CREATE TABLE x AS SELECT DISTINCT kind, AS_VALUE(kind) AS k FROM items;"
    with running(ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("items", "kiwi", {"kind": "fruit"})
        script.pipe("items", "fig", {"kind": "tree"})
        assert ("fruit", None) not in script.read("X")
        script.pipe("items", "kiwi", None)
        assert script.read("X")[-1] == ("fruit", None)
        script.pipe("items", "fig", None)
        assert script.read("X")[-1] == ("tree", None)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT name, kind FROM items",
        "SELECT DISTINCT * FROM items",
        "SELECT DISTINCT kind, COUNT(*) AS n FROM items GROUP BY kind",
    ],
)
def test_rows_with_their_key_are_distinct_already(query: str) -> None:
    """Nothing is added to the topology."""
    with_it = engine_of(ITEMS, f"CREATE TABLE x AS {query};").topology().describe()
    without = engine_of(ITEMS, f"CREATE TABLE x AS {query.replace('DISTINCT ', '')};")
    assert str(with_it) == str(without.topology().describe())


@pytest.mark.parametrize(
    ("create", "code"),
    [
        ("CREATE TABLE x AS SELECT DISTINCT item FROM orders;", "no-value-columns"),
        ("CREATE STREAM x AS SELECT DISTINCT id, MAP('a' := price) m FROM orders;", "map-in-key"),
        (
            "CREATE TABLE x WITH (ROW_TTL='1 DAY') AS SELECT DISTINCT item, 1 AS i FROM orders;",
            "bad-property",
        ),
        (
            "CREATE STREAM x WITH (ROW_TTL='0 DAYS') AS SELECT DISTINCT id, item FROM orders;",
            "bad-property",
        ),
        ("CREATE STREAM x WITH (ROW_TTL='1 DAY') AS SELECT * FROM orders;", "bad-property"),
    ],
)
def test_what_distinct_cannot_do_is_refused(create: str, code: str) -> None:
    """The error says what to do instead."""
    assert refusal(ORDERS, create).code == code


def test_groups_that_are_not_shown_are_refused() -> None:
    """Two groups could give the same row."""
    query = "SELECT DISTINCT COUNT(*) AS n FROM orders GROUP BY item EMIT CHANGES;"
    with running(ORDERS) as script, pytest.raises(Exception, match="distinct-groups"):
        script.engine.query(query)
