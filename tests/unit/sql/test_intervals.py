"""INTERVAL, ``::`` and CURRENT_TIMESTAMP."""

import time

import pytest

from penstock.model.sql.errors import ParseError, SqlError
from penstock.sql.ast.expressions import Binary, ColumnRef, IntervalLiteral
from penstock.sql.ast.queries import Query, TimeSpan, TumblingWindow
from penstock.sql.syntax.parser import parse_expression, parse_statement
from tests.unit.sql.kit import type_of, value_of
from tests.unit.sql.queries import ITEMS, ORDERS, columns_of, engine_of, refusal, running

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTERVAL '5' MINUTE", IntervalLiteral(5, "MINUTES")),
        ("INTERVAL 5 MINUTES", IntervalLiteral(5, "MINUTES")),
        ("INTERVAL ' -2 years '", IntervalLiteral(-2, "YEARS")),
        ("interval + 1", Binary("+", ColumnRef("INTERVAL"), parse_expression("1"))),
        ("CAST(a AS INT) + 1", parse_expression("a::INT + 1")),
        ("- CAST(a AS DECIMAL(4, 2))", parse_expression("-a::DECIMAL(4, 2)")),
        ("CAST(CAST(a->b AS ARRAY<INT>)[1] AS INT)", parse_expression("a->b::ARRAY<INT>[1]::INT")),
    ],
)
def test_spellings(text: str, expected: object) -> None:
    """Units are singular or plural; a column may still be called INTERVAL; :: binds tightly."""
    assert parse_expression(text) == expected


@pytest.mark.parametrize("text", ["'1 day 2 hours'", "'x' DAY", "'1 day' DAY", "'99999999999' DAY"])
def test_intervals_of_another_form_are_refused(text: str) -> None:
    """An interval is one number and one unit."""
    with pytest.raises(ParseError, match="bad-interval"):
        parse_expression(f"INTERVAL {text}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TIMESTAMP '1970-01-02T00:00:00' - INTERVAL '1' DAY", 0),
        ("INTERVAL '90' SECONDS + TIMESTAMP '1970-01-01T00:00:00'", 90_000),
        ("TIMESTAMP '1970-01-31T00:00:00' + INTERVAL '1' MONTH", 58 * DAY),
        ("DATE '1972-02-29' + INTERVAL '1' YEAR", 730 + 366 + 58),
        ("TIME '23:59:00' + INTERVAL '2' MINUTES", 60_000),
        ("CAST(NULL AS TIMESTAMP) + INTERVAL '1' DAY", None),
    ],
)
def test_moments_move_by_intervals(text: str, expected: int | None) -> None:
    """A month ends where its last day is; a day starts again at midnight; NULL stays NULL."""
    assert value_of(text) == expected


def test_the_type_of_a_moment_stays() -> None:
    """A date plus days is a date."""
    assert type_of("d + INTERVAL '1' DAY", D="DATE") == "DATE"
    assert type_of("t - INTERVAL '1' DAY", T="TIMESTAMP") == "TIMESTAMP"


@pytest.mark.parametrize(
    "text",
    [
        "INTERVAL '1' DAY",
        "1 + INTERVAL '1' DAY",
        "INTERVAL '1' DAY - DATE '1970-01-01'",
        "INTERVAL '1' DAY + INTERVAL '1' DAY",
        "DATE '1970-01-01' + INTERVAL '1' HOUR",
        "TIME '10:00:00' + INTERVAL '1' DAY",
        "DATE '1970-01-01' * INTERVAL '1' DAY",
    ],
)
def test_what_intervals_cannot_do_is_refused(text: str) -> None:
    """The error says what to do."""
    with pytest.raises(SqlError) as refused:
        value_of(text)
    assert refused.value.fix


def test_windows_take_intervals() -> None:
    """A window's size may be an INTERVAL of a fixed length."""
    text = "SELECT * FROM s WINDOW TUMBLING (SIZE INTERVAL '5' MINUTES) EMIT CHANGES"
    statement = parse_statement(text)
    assert isinstance(statement, Query)
    assert statement.window == TumblingWindow(TimeSpan(5, "MINUTES"))
    with pytest.raises(ParseError, match="bad-interval"):
        parse_statement(text.replace("MINUTES", "MONTHS"))


def test_the_clock_is_asked_for_each_row() -> None:
    """With or without brackets, over streams and in VALUES."""
    create = (
        "CREATE STREAM x AS SELECT id, CURRENT_TIMESTAMP AS at, CURRENT_DATE d, current_time() t"
        " FROM orders WHERE CURRENT_TIMESTAMP > FROM_UNIXTIME(0);"
    )
    with running(ORDERS, create) as script:
        before = time.time_ns() // 1_000_000
        script.pipe("orders", 1, {"item": "fig"})
        after = time.time_ns() // 1_000_000
        assert columns_of(script.engine, "X") == "ID INTEGER KEY, AT TIMESTAMP, D DATE, T TIME"
        ((_, row),) = script.read("X")
        assert before <= row["AT"] <= after
        assert row["D"] == row["AT"] // DAY
    engine = engine_of(
        "CREATE STREAM s (id INT KEY, at TIMESTAMP) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
        "INSERT INTO s VALUES (1, CURRENT_TIMESTAMP - INTERVAL '1' DAY);",
    )
    assert engine.outbox[0].value != b'{"AT":null}'


def test_a_column_of_that_name_wins() -> None:
    """Scripts of before keep their meaning."""
    source = (
        "CREATE STREAM s (id INT KEY, current_date INT)"
        " WITH (KAFKA_TOPIC='s', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
    )
    with running(source, "CREATE STREAM x AS SELECT id, current_date FROM s;") as script:
        script.pipe("s", 1, {"current_date": 7})
        assert script.read("X") == [(1, {"CURRENT_DATE": 7})]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name, kind FROM items WHERE CURRENT_TIMESTAMP > FROM_UNIXTIME(ROWTIME)",
        "SELECT kind, COUNT(CURRENT_DATE) AS n FROM items GROUP BY kind",
        "SELECT name, kind FROM (SELECT name, kind, CURRENT_DATE AS d FROM items) q",
        "SELECT item, COUNT(*) AS n FROM orders GROUP BY item HAVING CURRENT_DATE > FROM_DAYS(1)",
    ],
)
def test_tables_cannot_depend_on_the_clock(query: str) -> None:
    """What a clock decided cannot be taken back."""
    error = refusal(ORDERS, ITEMS, f"CREATE TABLE x AS {query};")
    assert error.code == "clock-on-table"


def test_a_table_may_show_the_clock() -> None:
    """The last SELECT is computed once for each change."""
    engine_of(ITEMS, "CREATE TABLE x AS SELECT name, CURRENT_TIMESTAMP AS at FROM items;")


def test_pull_queries_may_ask_the_clock() -> None:
    """A query that is answered once has one present."""
    with running(ITEMS) as script:
        script.pipe("items", "fig", {"kind": "fruit"}, 0)
        text = "SELECT name FROM items WHERE FROM_UNIXTIME(ROWTIME) < CURRENT_TIMESTAMP;"
        query = script.engine.pull(text)
        assert query.rows(script.queries.records) == [{"NAME": "fig"}]
