"""Rows that programs get have Python's own dates and times."""

from datetime import UTC, date, datetime, time
from typing import Any

import pytest

from penstock.cli.sql.results import plain
from penstock.sql.python_values import converter, sql_number
from tests.unit.sql.kit import sql_type
from tests.unit.sql.queries import running

MOMENT = datetime(2026, 1, 31, 12, 30, 0, 123_000, tzinfo=UTC)
MS = 1_769_862_600_123

EVENTS = (
    "CREATE TABLE events (id INT PRIMARY KEY, at TIMESTAMP, day DATE, t TIME, xs ARRAY<DATE>,"
    " m MAP<VARCHAR, TIMESTAMP>, s STRUCT<d DATE, n INT>)"
    " WITH (KAFKA_TOPIC='events', FORMAT='JSON', PARTITIONS=1);"
)


def value_of(type_: str, value: Any) -> Any:
    convert = converter(sql_type(type_))
    return value if convert is None else convert(value)


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("TIMESTAMP", MS, MOMENT),
        ("TIMESTAMP", -1, datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        ("DATE", 31, date(1970, 2, 1)),
        ("TIME", 45_000_007, time(12, 30, 0, 7_000)),
        ("TIMESTAMP", None, None),
        ("ARRAY<DATE>", [0, None], [date(1970, 1, 1), None]),
        ("MAP<VARCHAR, DATE>", {"a": 0}, {"a": date(1970, 1, 1)}),
        ("STRUCT<D DATE, N INT>", {"D": 0, "N": 0}, {"D": date(1970, 1, 1), "N": 0}),
        ("BIGINT", MS, MS),
        ("ARRAY<INT>", [1], [1]),
    ],
)
def test_dates_and_times_are_those_of_datetime(type_: str, value: Any, expected: Any) -> None:
    """Also inside lists, maps and structs; other values stay as they are."""
    assert value_of(type_, value) == expected


@pytest.mark.parametrize("type_", ["TIMESTAMP", "DATE"])
def test_date_that_python_cannot_hold_stays_a_number(type_: str) -> None:
    """A query has years beyond 9999; nothing fails because of them."""
    assert value_of(type_, 10**15) == 10**15
    assert plain(10**15, sql_type(type_)) == 10**15


@pytest.mark.parametrize("value", [MOMENT, date(1970, 2, 1), time(12, 30, 0, 7_000)])
def test_number_of_a_date_is_the_one_it_came_from(value: Any) -> None:
    """The command line writes dates from the numbers that queries have."""
    name = {datetime: "TIMESTAMP", date: "DATE", time: "TIME"}[type(value)]
    assert value_of(name, sql_number(value)) == value


def test_rows_of_push_and_pull_queries_have_dates() -> None:
    """A program adds a timedelta to a TIMESTAMP without knowing what SQL makes of it."""
    row = {"AT": MS, "DAY": 31, "T": 0, "XS": [1], "M": {"k": MS}, "S": {"D": 1, "N": 2}}
    with running(EVENTS) as script:
        pushed = script.queries.subscribe(script.engine.query("SELECT * FROM events EMIT CHANGES;"))
        script.pipe("events", 1, row)
        pull = script.engine.pull("SELECT * FROM events ORDER BY at;")
        expected = {
            "ID": 1,
            "AT": MOMENT,
            "DAY": date(1970, 2, 1),
            "T": time(0),
            "XS": [date(1970, 1, 2)],
            "M": {"k": MOMENT},
            "S": {"D": date(1970, 1, 2), "N": 2},
        }
        assert list(pushed) == [expected]
        assert pull.rows(script.queries.records) == [expected]
