"""INSERT INTO ... VALUES: values go in as they are written, or not at all."""

import json
from typing import Any

import pytest

from tests.unit.sql.queries import engine_of, refusal

TYPES = (
    "CREATE STREAM s (id INT KEY, a INT, n BIGINT, d DECIMAL(5, 2), x DOUBLE, t VARCHAR,"
    " flag BOOLEAN, arr ARRAY<INT>, st STRUCT<f INT>, b BYTES, day DATE)"
    " WITH (KAFKA_TOPIC='s', FORMAT='JSON', PARTITIONS=1);"
)


def inserted(column: str, value: str) -> Any:
    """The JSON of one column after INSERT."""
    engine = engine_of(TYPES, f"INSERT INTO s ({column}) VALUES ({value});")
    return json.loads(engine.outbox[0].value or b"")[column.upper()]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("a", "3000000000"),
        ("a", "2.9"),
        ("a", "'5'"),
        ("n", "1e3"),
        ("d", "1.555"),
        ("d", "12345"),
        ("d", "1e0"),
        ("t", "5"),
        ("flag", "'true'"),
        ("arr", "ARRAY[3000000000]"),
        ("st", "STRUCT(f := 2.5)"),
        ("b", "'text'"),
        ("day", "5"),
    ],
)
def test_value_that_would_change_is_refused(column: str, value: str) -> None:
    """A value that needs rounding, cutting or reading is refused, as ksqlDB refuses it."""
    error = refusal(TYPES, f"INSERT INTO s ({column}) VALUES ({value});")
    assert error.code == "wrong-type"
    assert column.upper() in error.message


def test_column_that_is_named_twice_is_refused() -> None:
    """One of the two values would be lost."""
    error = refusal(TYPES, "INSERT INTO s (id, a, n, a) VALUES (1, 2, 3, 4);")
    assert error.code == "duplicate-column"
    assert "A" in error.message


@pytest.mark.parametrize(
    ("column", "value", "written"),
    [
        ("n", "5", 5),
        ("d", "1.5", 1.5),
        ("d", "7", 7),
        ("x", "3", 3.0),
        ("x", "1.25", 1.25),
        ("day", "'1970-01-03'", 2),
        ("a", "CAST(2.9 AS INT)", 2),
        ("arr", "ARRAY[1, NULL]", [1, None]),
    ],
)
def test_value_that_fits_is_written(column: str, value: str, written: Any) -> None:
    """Numbers become wider numbers and text becomes a date; CAST does the rest on demand."""
    assert inserted(column, value) == written


def test_advice_names_a_way_that_exists() -> None:
    """There is no CAST to BYTES, and the error does not propose one."""
    assert "TO_BYTES" in (refusal(TYPES, "INSERT INTO s (b) VALUES ('x');").fix or "")
    assert "CAST" in (refusal(TYPES, "INSERT INTO s (a) VALUES (2.9);").fix or "")
    assert refusal(TYPES, "INSERT INTO s (day) VALUES (5);").fix is None


def test_time_before_1970_is_refused() -> None:
    """Kafka's records have no negative times."""
    error = refusal(TYPES, "INSERT INTO s (id, rowtime) VALUES (1, -1);")
    assert error.code == "negative-time"


@pytest.mark.parametrize("format_", ["PROTOBUF", "PROTOBUF_NOSR"])
def test_null_in_an_array_of_protobuf_is_refused(format_: str) -> None:
    """Protobuf has no place for it; the statement is refused, and nothing is written."""
    created = (
        "CREATE STREAM p (id INT KEY, a ARRAY<INT>)"
        f" WITH (KAFKA_TOPIC='p', VALUE_FORMAT='{format_}', PARTITIONS=1);"
    )
    error = refusal(created, "INSERT INTO p VALUES (1, ARRAY[1, NULL]);")
    assert (error.code, "field 'A'" in error.message) == ("value-not-writable", True)
    engine = engine_of(created, "INSERT INTO p VALUES (1, ARRAY[1, 2]);")
    (row,) = engine.execute("SELECT * FROM p;")[-1].rows
    assert row == (1, [1, 2])
