"""CAST, value by value."""

from decimal import Decimal
from typing import Any

import pytest

from penstock.model.sql.errors import SqlTypeError
from penstock.sql.casting import caster, coercer
from tests.unit.sql.kit import sql_type


def cast(value: Any, source: str, target: str) -> Any:
    return caster(sql_type(source), sql_type(target))(value)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (2**31, "BIGINT", "INT", -(2**31)),
        (1.9, "DOUBLE", "INT", 1),
        (1e30, "DOUBLE", "BIGINT", 2**63 - 1),
        (float("nan"), "DOUBLE", "INT", 0),
        (0.99, "DOUBLE", "DECIMAL(2,1)", Decimal("1.0")),
        (1, "INT", "DECIMAL(2,1)", Decimal("1.0")),
        (Decimal("10.01"), "DECIMAL(4,2)", "INT", 10),
        (Decimal("10.00"), "DECIMAL(4,2)", "STRING", "10.00"),
        (1e7, "DOUBLE", "STRING", "1.0E7"),
        (0.5, "DOUBLE", "STRING", "0.5"),
        (True, "BOOLEAN", "STRING", "true"),
        ("TRUE", "STRING", "BOOLEAN", True),
        ("yes", "STRING", "BOOLEAN", False),
        (" 12 ", "STRING", "INT", 12),
        (" 1.5d ", "STRING", "DOUBLE", 1.5),
        ("-Infinity", "STRING", "DOUBLE", float("-inf")),
        ("1.005", "STRING", "DECIMAL(3,2)", Decimal("1.01")),
        ("1970-01-01T00:00:01", "STRING", "TIMESTAMP", 1000),
        ("1970-01-01T01:00:00+01:00", "STRING", "TIMESTAMP", 0),
        ("1970-02", "STRING", "DATE", 31),
        ("00:01", "STRING", "TIME", 60_000),
        (10, "TIMESTAMP", "STRING", "1970-01-01T00:00:00.010"),
        (-1, "DATE", "STRING", "1969-12-31"),
        (5000, "TIME", "STRING", "00:00:05"),
        (-2000, "TIMESTAMP", "DATE", -1),
        (1, "DATE", "TIMESTAMP", 86_400_000),
        ([1, None], "ARRAY<INT>", "STRING", "[1, null]"),
        ({"a": 1}, "MAP<STRING, INT>", "STRING", "{a=1}"),
        ({"A": 1, "B": None}, "STRUCT<A INT, B INT>", "STRING", "Struct{A=1}"),
        ([1, 2], "ARRAY<INT>", "ARRAY<STRING>", ["1", "2"]),
        (
            {"A": 1, "B": 2},
            "STRUCT<A INT, B INT>",
            "STRUCT<A STRING, C INT>",
            {"A": "1", "C": None},
        ),
        (None, "STRING", "INT", None),
    ],
)
def test_casts(value: Any, source: str, target: str, result: Any) -> None:
    """Each cast gives ksqlDB's value; NULL stays NULL."""
    assert cast(value, source, target) == result


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (10, "INT", "DECIMAL(2,1)"),
        ("abc", "STRING", "INT"),
        ("2147483648", "STRING", "INT"),
        ("NaN", "STRING", "DECIMAL(2,1)"),
        ("1_0", "STRING", "DECIMAL(4,1)"),
        ("1_0", "STRING", "DOUBLE"),
        ("nan", "STRING", "DOUBLE"),
        ("inf", "STRING", "DOUBLE"),
        ("25:00", "STRING", "TIME"),
        ("1970-13", "STRING", "DATE"),
    ],
)
def test_values_that_do_not_fit_raise(value: Any, source: str, target: str) -> None:
    """A value without a counterpart is an error, which the expression turns into NULL."""
    with pytest.raises((ValueError, ArithmeticError)):
        cast(value, source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [("STRING", "MAP<STRING, INT>"), ("BYTES", "STRING"), ("BOOLEAN", "INT"), ("TIME", "DATE")],
)
def test_casts_that_do_not_exist_are_refused(source: str, target: str) -> None:
    """A cast that the language does not have is refused before any value is seen."""
    with pytest.raises(SqlTypeError, match="no-such-cast"):
        cast(None, source, target)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (3, "INT", "DOUBLE", 3.0),
        (3, "INT", "DECIMAL(3,1)", Decimal("3.0")),
        (Decimal("2.1"), "DECIMAL(2,1)", "DECIMAL(4,2)", Decimal("2.10")),
        ("1970-01-02", "STRING", "DATE", 1),
        ([[1]], "ARRAY<ARRAY<INT>>", "ARRAY<ARRAY<BIGINT>>", [[1]]),
        ({"A": 1}, "STRUCT<A INT>", "STRUCT<A DOUBLE, B INT>", {"A": 1.0, "B": None}),
        ({}, "STRUCT<>", "STRUCT<A INT>", {"A": None}),
    ],
)
def test_values_are_coerced_into_columns(value: Any, source: str, target: str, result: Any) -> None:
    """INSERT VALUES widens numbers and reads dates, also inside collections."""
    assert coercer(sql_type(source), sql_type(target))(value) == result


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("BIGINT", "INT"),
        ("STRING", "INT"),
        ("INT", "STRING"),
        ("STRUCT<X INT>", "STRUCT<A INT>"),
        ("MAP<STRING, STRING>", "MAP<STRING, INT>"),
    ],
)
def test_other_values_need_a_cast(source: str, target: str) -> None:
    """A narrowing or a change of kind is never silent."""
    with pytest.raises(SqlTypeError, match="no-such-coercion"):
        coercer(sql_type(source), sql_type(target))
