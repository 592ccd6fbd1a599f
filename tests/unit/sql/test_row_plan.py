"""Queries that need no topology, and what they make of single records."""

import orjson
import pytest

from penstock.sql import SqlEngine
from penstock.sql.queries.row_plan import RowPlan, row_plan

STREAM = """
    CREATE STREAM orders (id VARCHAR KEY, amount INT, made BIGINT, h BYTES HEADER('h'))
        WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON', TIMESTAMP='MADE');
    CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT)
        WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');
    CREATE STREAM clicks (id VARCHAR KEY, n INT)
        WITH (KAFKA_TOPIC='clicks', PARTITIONS=1, VALUE_FORMAT='JSON',
              WINDOW_TYPE='SESSION');
"""


def planned(sql: str) -> RowPlan | None:
    engine = SqlEngine()
    engine.execute(STREAM)
    return row_plan(engine.query(sql).plan, engine.lowering("test"))


def value(**fields: object) -> bytes:
    return orjson.dumps({name.upper(): given for name, given in fields.items()})


def test_a_record_becomes_a_row_and_the_row_a_result() -> None:
    """Pseudo columns, headers and the TIMESTAMP column are those of the record."""
    plan = planned("SELECT id, amount * 2, ROWTIME, ROWOFFSET, h FROM orders EMIT CHANGES;")
    assert plan is not None
    row = plan.rows.row(3, 7, 99, b"a", value(amount=4, made=1234), (("h", b"x"),))
    assert row is not None
    assert plan.values(row) == ("a", 8, 1234, 7, b"x")


def test_where_decides_about_a_row() -> None:
    """NULL counts as false."""
    plan = planned("SELECT * FROM orders WHERE amount > 3 AND id = 'a' EMIT CHANGES;")
    assert plan is not None
    assert plan.holds is not None
    rows = [plan.rows.row(0, 0, 0, b"a", value(amount=n, made=1)) for n in (3, 4, None)]
    assert [plan.holds(row) for row in rows if row is not None] == [False, True, False]


def test_a_record_without_value_or_time_has_no_row() -> None:
    """As in a query that runs: such records are skipped."""
    plan = planned("SELECT * FROM orders EMIT CHANGES;")
    assert plan is not None
    assert plan.rows.row(0, 0, 5, b"a", None) is None
    assert plan.rows.row(0, 0, 5, b"a", value(amount=1)) is None


def test_a_deleted_row_of_a_table_keeps_its_key() -> None:
    """The other columns are NULL."""
    plan = planned("SELECT age, id FROM users EMIT CHANGES;")
    assert plan is not None
    assert plan.deleted(b"ann") == (None, "ann")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, COUNT(*) FROM orders GROUP BY id EMIT CHANGES;",
        "SELECT * FROM users WHERE age > 3 EMIT CHANGES;",
        "SELECT * FROM orders o JOIN users u ON o.id = u.id EMIT CHANGES;",
        "SELECT * FROM orders PARTITION BY amount EMIT CHANGES;",
    ],
)
def test_queries_with_state_need_a_topology(sql: str) -> None:
    """A table with WHERE, too: it has to tell of rows that no longer pass."""
    assert planned(sql) is None


def test_windowed_keys_bring_their_bounds() -> None:
    """A session's key ends in its end and its start."""
    plan = planned("SELECT id, WINDOWSTART, WINDOWEND, n FROM clicks EMIT CHANGES;")
    assert plan is not None
    key = b"a" + (20).to_bytes(8, "big") + (10).to_bytes(8, "big")
    row = plan.rows.row(0, 0, 5, key, value(n=1))
    assert row is not None
    assert plan.values(row) == ("a", 10, 20, 1)
