"""Ad-hoc queries: DuckDB's dialect over the rows that streams and tables have now."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from penstock.errors import ConfigError
from penstock.sql import AnalysisError, SqlEngine
from penstock.sql.queries.ad_hoc import named_in

pytest.importorskip("duckdb")

_SCRIPT = """
    CREATE STREAM orders (id INT KEY, buyer VARCHAR, amount DECIMAL(6, 2), made TIMESTAMP)
        WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
    CREATE TABLE spent AS SELECT buyer, SUM(amount) AS total FROM orders GROUP BY buyer;
    INSERT INTO orders VALUES (1, 'ann', 10.50, '2026-01-01T10:00:00.250');
    INSERT INTO orders VALUES (2, 'bob', 3.00, '2026-01-02T10:00:00');
    INSERT INTO orders VALUES (3, 'ann', 1.25, '2026-01-03T10:00:00');
"""


@pytest.fixture
def engine() -> Iterator[SqlEngine]:
    engine = SqlEngine()
    engine.execute(_SCRIPT)
    with engine.local():
        yield engine


def test_a_query_joins_tables_and_streams_with_window_functions(engine: SqlEngine) -> None:
    table = engine.ad_hoc("""
        WITH ranked AS (
            SELECT *, row_number() OVER (PARTITION BY buyer ORDER BY made DESC) AS n FROM orders
        )
        SELECT r.buyer, r.id, s.total FROM ranked r JOIN spent s USING (buyer)
        WHERE n = 1 ORDER BY r.buyer
    """)
    assert table.to_pylist() == [
        {"BUYER": "ann", "ID": 3, "TOTAL": Decimal("11.75")},
        {"BUYER": "bob", "ID": 2, "TOTAL": Decimal("3.00")},
    ]


def test_a_table_has_its_last_rows_only(engine: SqlEngine) -> None:
    assert engine.ad_hoc("SELECT count(*) AS n FROM spent").to_pylist() == [{"n": 2}]
    engine.execute("INSERT INTO orders VALUES (4, 'eve', 1, '2026-01-04T10:00:00');")
    assert engine.ad_hoc("SELECT count(*) AS n FROM Spent").to_pylist() == [{"n": 3}]


def test_moments_are_dates_and_times_in_utc() -> None:
    engine = SqlEngine()
    engine.execute("""
        CREATE STREAM s (k INT KEY, d DATE, t TIME, ts TIMESTAMP, a ARRAY<DATE>)
            WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
        INSERT INTO s VALUES (1, '2026-03-04', '05:06:07', '2026-03-04T05:06:07.008',
            ARRAY['2026-03-05']);
    """)
    rows = engine.ad_hoc("SELECT d, t, ts, a, d + INTERVAL 1 DAY AS later FROM s").to_pylist()
    assert rows == [
        {
            "D": date(2026, 3, 4),
            "T": time(5, 6, 7),
            "TS": datetime(2026, 3, 4, 5, 6, 7, 8000, UTC),
            "A": [date(2026, 3, 5)],
            "later": datetime(2026, 3, 5),
        }
    ]


def test_maps_and_structs_keep_their_shape() -> None:
    engine = SqlEngine()
    engine.execute("""
        CREATE STREAM s (k INT KEY, m MAP<VARCHAR, INT>, p STRUCT<x INT, y INT>)
            WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
        INSERT INTO s VALUES (1, MAP('a' := 1), STRUCT(x := 2, y := NULL));
    """)
    rows = engine.ad_hoc("SELECT m['a'] AS one, p.x AS x, p.y AS y FROM s").to_pylist()
    assert rows == [{"one": 1, "x": 2, "y": None}]


def test_quoted_names_are_found() -> None:
    engine = SqlEngine()
    engine.execute("""
        CREATE STREAM `Mixed` (k INT KEY, v INT)
            WITH (KAFKA_TOPIC='m', VALUE_FORMAT='JSON', PARTITIONS=1);
        INSERT INTO `Mixed` VALUES (1, 2);
    """)
    assert engine.ad_hoc('SELECT v FROM "Mixed"').to_pylist() == [{"V": 2}]


def test_only_what_a_query_names_is_read() -> None:
    assert named_in("SELECT * FROM Orders o", ["ORDERS", "ORDER", "O2"]) == ["ORDERS"]


@pytest.mark.parametrize("sql", ["SELECT * FROM ordrs", "SELECT nothing FROM orders", "SELEC 1"])
def test_what_duckdb_refuses_is_an_error_of_sql(engine: SqlEngine, sql: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        engine.ad_hoc(sql)
    assert caught.value.code == "ad-hoc-query"


def test_a_misspelled_table_is_named(engine: SqlEngine) -> None:
    ordrs = [1]  # a variable of the program is not a table
    with pytest.raises(AnalysisError) as caught:
        engine.ad_hoc("SELECT * FROM ordrs")
    assert ordrs
    assert "ORDERS" in str(caught.value.fix)


def test_without_duckdb_the_extra_is_named(
    engine: SqlEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ConfigError) as caught:
        engine.ad_hoc("SELECT 1")
    assert "[duckdb]" in str(caught.value.fix)
