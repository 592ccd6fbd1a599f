"""Types: names, common types, results of arithmetic."""

import pytest

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    DecimalType,
    arithmetic_type,
    can_widen,
    common_type,
    merge,
)
from penstock.sql.catalog.type_names import resolve
from penstock.sql.syntax.parser import parse_type
from tests.unit.sql.kit import sql_type


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("int", "INTEGER"),
        ("VARCHAR", "STRING"),
        ("VARCHAR(STRING)", "STRING"),
        ("decimal(4,2)", "DECIMAL(4, 2)"),
        ("ARRAY<MAP<STRING, BIGINT>>", "ARRAY<MAP<STRING, BIGINT>>"),
        ("STRUCT<a INT, `b` BYTES>", "STRUCT<`A` INTEGER, `b` BYTES>"),
    ],
)
def test_types_have_one_spelling(text: str, shown: str) -> None:
    """Every way to write a type shows the same name."""
    assert str(sql_type(text)) == shown


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("STRNG", "unknown-type"),
        ("INT(3)", "type-parameters"),
        ("DECIMAL", "bad-decimal"),
        ("DECIMAL(2, 3)", "bad-decimal"),
        ("STRUCT<a INT, a INT>", "duplicate-field"),
    ],
)
def test_wrong_types_are_refused(text: str, code: str) -> None:
    """A type that does not exist has an error with its place."""
    with pytest.raises(SqlTypeError) as caught:
        resolve(parse_type(text))
    assert caught.value.code == code
    assert caught.value.span is not None


def test_custom_types_stand_for_others() -> None:
    """CREATE TYPE gives a name to a type."""
    assert resolve(parse_type("ARRAY<AGE>"), {"AGE": INTEGER}) == sql_type("ARRAY<INT>")


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("+", "INT", "INT", "INTEGER"),
        ("+", "INT", "BIGINT", "BIGINT"),
        ("+", "DECIMAL(4,2)", "DECIMAL(5,1)", "DECIMAL(7, 2)"),
        ("*", "DECIMAL(4,2)", "DECIMAL(5,1)", "DECIMAL(10, 3)"),
        ("/", "DECIMAL(4,2)", "DECIMAL(4,2)", "DECIMAL(11, 7)"),
        ("%", "DECIMAL(4,2)", "DECIMAL(5,1)", "DECIMAL(4, 2)"),
        ("+", "DECIMAL(4,2)", "INT", "DECIMAL(13, 2)"),
        ("-", "DECIMAL(4,2)", "DOUBLE", "DOUBLE"),
    ],
)
def test_arithmetic_types(operator: str, left: str, right: str, result: str) -> None:
    """DECIMAL results are wide enough for every digit, a DOUBLE makes a DOUBLE."""
    assert str(arithmetic_type(operator, sql_type(left), sql_type(right))) == result


def test_numbers_widen_and_nothing_else_does() -> None:
    """Without a CAST a number may only become a wider number."""
    assert can_widen(INTEGER, BIGINT)
    assert can_widen(BIGINT, DOUBLE)
    assert can_widen(DecimalType(4, 2), DecimalType(6, 3))
    assert not can_widen(DecimalType(4, 2), DecimalType(4, 1))
    assert not can_widen(BIGINT, INTEGER)
    assert not can_widen(INTEGER, STRING)


def test_common_types_merge_inside() -> None:
    """Collections have their members' common type, structs the fields of both."""
    assert merge(sql_type("ARRAY<INT>"), sql_type("ARRAY<DOUBLE>")) == sql_type("ARRAY<DOUBLE>")
    left, right = sql_type("STRUCT<A INT, B INT>"), sql_type("STRUCT<B BIGINT, C STRING>")
    assert merge(left, right) == sql_type("STRUCT<A INT, B BIGINT, C STRING>")
    assert common_type([None, INTEGER, None, BIGINT]) == BIGINT
    assert common_type([None]) is None
    with pytest.raises(SqlTypeError, match="no-common-type"):
        merge(STRING, INTEGER)
