"""UNION ALL: which queries fit together, and what comes out."""

import pytest

from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal, running

REFUNDS = (
    "CREATE STREAM refunds (id INT KEY, what VARCHAR, amount BIGINT)"
    " WITH (KAFKA_TOPIC='refunds', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
)
BOTH = "SELECT id, item, price FROM orders UNION ALL SELECT id, what, -amount FROM refunds"


def test_rows_of_both_streams_come_out() -> None:
    """Names are those of the first query, numbers have the widest type; a NULL value stays one."""
    with running(ORDERS, REFUNDS, f"CREATE STREAM x AS {BOTH};") as script:
        assert columns_of(script.engine, "X") == "ID INTEGER KEY, ITEM STRING, PRICE BIGINT"
        script.pipe("orders", 1, {"item": "fig", "price": 2})
        script.pipe("refunds", 2, {"what": "nut", "amount": 3})
        script.pipe("orders", 1, None)
        assert script.read("X") == [
            (1, {"ITEM": "fig", "PRICE": 2}),
            (2, {"ITEM": "nut", "PRICE": -3}),
            (1, None),
        ]


def test_a_stream_may_come_twice() -> None:
    """Its topic is read once, and each record goes through both queries."""
    create = (
        "CREATE STREAM x AS SELECT id, item FROM orders WHERE price > 1"
        " UNION ALL SELECT id, 'seen' FROM orders;"
    )
    with running(ORDERS, create) as script:
        script.pipe("orders", 1, {"item": "fig", "price": 2})
        script.pipe("orders", 2, {"item": "nut", "price": 1})
        assert script.read("X") == [
            (1, {"ITEM": "fig"}),
            (1, {"ITEM": "seen"}),
            (2, {"ITEM": "seen"}),
        ]
    sources = script.engine.topology().graph.nodes
    assert sum("SOURCE" in name for name in sources) == 1


def test_the_union_can_be_grouped() -> None:
    """Topics may have different partitions, so equal keys meet behind a repartition topic."""
    create = f"CREATE TABLE x AS SELECT id, COUNT(*) AS n FROM ({BOTH}) AS b GROUP BY id;"
    with running(ORDERS, REFUNDS, create) as script:
        script.pipe("orders", 1, {"item": "fig", "price": 2})
        script.pipe("refunds", 1, {"what": "nut", "amount": 3})
        assert script.read("X") == [(1, {"N": 1}), (1, {"N": 2})]
    assert list(script.engine.topology().graph.internal_topics) == ["Aggregate-GroupBy-repartition"]


def test_with_names_a_union() -> None:
    """WITH, INSERT INTO and EMIT CHANGES take a union as any query."""
    target = "CREATE STREAM t (id INT KEY, item VARCHAR, price BIGINT)"
    formats = "WITH (KAFKA_TOPIC='t', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
    insert = f"INSERT INTO t WITH b AS ({BOTH}) SELECT * FROM b UNION ALL SELECT * FROM orders;"
    with running(ORDERS, REFUNDS, f"{target} {formats}", insert) as script:
        rows = script.queries.subscribe(script.engine.query(f"{BOTH} EMIT CHANGES;"))
        script.pipe("refunds", 2, {"what": "nut", "amount": 3})
        script.pipe("orders", 1, {"item": "fig", "price": 2})
        assert len(script.read("t")) == 3
        assert rows.rows == [
            {"ID": 2, "ITEM": "nut", "PRICE": -3},
            {"ID": 1, "ITEM": "fig", "PRICE": 2},
        ]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT id, item FROM orders UNION ALL SELECT * FROM refunds", "union-columns"),
        ("SELECT id, item FROM orders UNION ALL SELECT id, amount FROM refunds", "union-types"),
        ("SELECT id, price FROM orders UNION ALL SELECT amount, id FROM refunds", "union-key"),
        ("SELECT name, kind FROM items UNION ALL SELECT name, kind FROM items", "union-of-tables"),
        ("SELECT id, price FROM orders UNION ALL SELECT id, amount FROM refunds LIMIT 1", "limit"),
    ],
)
def test_queries_that_do_not_fit_are_refused(query: str, code: str) -> None:
    """The error says which column, and what to do."""
    kind = "TABLE" if "items" in query else "STREAM"
    error = refusal(ORDERS, REFUNDS, ITEMS, f"CREATE {kind} x AS {query};")
    assert error.code == code
    assert error.fix


def test_union_may_still_be_a_name() -> None:
    """The word is a keyword only before ALL."""
    engine_of(ORDERS, "CREATE STREAM x AS SELECT union.id, price AS union FROM orders union;")
