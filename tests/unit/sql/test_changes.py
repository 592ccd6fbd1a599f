"""CHANGES(table): what happened to each row, with the row before."""

import pytest

from penstock.sql import SqlError
from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal, running

CHANGES = "CREATE STREAM x AS SELECT * FROM CHANGES(items);"


def test_each_change_is_a_row() -> None:
    """A deletion has a row, too; one of a key that is not there changes nothing."""
    with running(ITEMS, CHANGES) as script:
        assert columns_of(script.engine, "X") == (
            "NAME STRING KEY, KIND STRING, CHANGE STRING, BEFORE STRUCT<KIND STRING>"
        )
        script.pipe("items", "fig", None)
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("items", "fig", {"kind": "tree"})
        script.pipe("items", "nut", {"kind": None})
        script.pipe("items", "fig", None)
        script.pipe("items", "fig", {"kind": "tree"})
        script.pipe("items", None, {"kind": "none"})
        assert [(key, tuple(row.values())) for key, row in script.read("X")] == [
            ("fig", ("fruit", "INSERT", None)),
            ("fig", ("tree", "UPDATE", {"KIND": "fruit"})),
            ("nut", (None, "INSERT", None)),
            ("fig", (None, "DELETE", {"KIND": "tree"})),
            ("fig", ("tree", "INSERT", None)),
        ]


def test_changes_are_a_stream_like_any_other() -> None:
    """They can be filtered, grouped in windows and counted, also those of a query's table."""
    statements = (
        "CREATE TABLE sums AS SELECT item, SUM(price) AS s FROM orders GROUP BY item;",
        (
            "CREATE TABLE ups AS SELECT item, COUNT(*) AS n FROM CHANGES(sums) c"
            " WINDOW TUMBLING (SIZE 1 SECOND) WHERE change = 'UPDATE' AND s > before->s"
            " GROUP BY item;"
        ),
    )
    with running(ORDERS, *statements) as script:
        for time, price in [(0, 1), (1, 2), (2, -5), (3, 4), (1500, 1)]:
            script.pipe("orders", 1, {"item": "fig", "price": price}, time)
        counts = [record.value for record in script.queries.produced if record.topic == "UPS"]
        assert counts == [b'{"N":1}', b'{"N":2}', b'{"N":1}']


def test_deletions_have_a_time_and_a_key() -> None:
    """ROWTIME of a deletion is the time of its record."""
    create = "CREATE STREAM x AS SELECT name, change, ROWTIME AS at FROM CHANGES(items);"
    with running(ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"}, 5)
        script.pipe("items", "fig", None, 3)
        assert script.read("X") == [
            ("fig", {"CHANGE": "INSERT", "AT": 5}),
            ("fig", {"CHANGE": "DELETE", "AT": 3}),
        ]


def test_a_table_joins_its_own_changes() -> None:
    """The table's rows and its changes come from one topic, which is read once."""
    create = (
        "CREATE STREAM x AS SELECT c.name, change, i.kind AS now FROM CHANGES(items) c"
        " LEFT JOIN items i ON c.name = i.name;"
    )
    with running(ITEMS, create) as script:
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("items", "fig", None)
        assert [row["NOW"] for _, row in script.read("X")] == ["fruit", None]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM CHANGES(orders)", "changes-of-stream"),
        ("WITH q AS (SELECT * FROM items) SELECT * FROM CHANGES(q)", "changes-of-query"),
        ("SELECT * FROM EXPLODE(items)", "unknown-source-function"),
        ("SELECT * FROM CHANGES(nothing)", "unknown-source"),
    ],
)
def test_what_has_no_changes_is_refused(query: str, code: str) -> None:
    """The error says what to write."""
    assert refusal(ORDERS, ITEMS, f"CREATE STREAM x AS {query};").code == code


def test_a_column_of_that_name_is_refused() -> None:
    """The added columns could not be told from it."""
    table = "CREATE TABLE t (id INT PRIMARY KEY, change INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON');"
    error = refusal(table, "CREATE STREAM x AS SELECT * FROM CHANGES(t);")
    assert error.code == "changes-column"


def test_pull_queries_have_no_changes() -> None:
    """Only the last rows of a table are kept."""
    with pytest.raises(SqlError, match="pull-changes"):
        engine_of(ITEMS).pull("SELECT * FROM CHANGES(items);")
