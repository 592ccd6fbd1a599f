"""Statements that differ only in their literals have one shape."""

from decimal import Decimal

import pytest

from penstock.sql.pull.shape import shape_of


def values(sql: str) -> list[object]:
    shape = shape_of(sql)
    assert shape is not None
    return [literal.value for literal in shape.literals]


def text(sql: str) -> str:
    shape = shape_of(sql)
    assert shape is not None
    return shape.text


def test_literals_are_taken_out() -> None:
    """Text, whole numbers, decimals and numbers with an exponent are literals."""
    sql = "SELECT a1 FROM t WHERE k = 'it''s' AND n > 5 AND d < 1.50 AND e = 2e3;"
    assert values(sql) == ["it's", 5, Decimal("1.50"), 2000.0]
    assert text(sql) == text("SELECT a1 FROM t WHERE k = 'x' AND n > 7 AND d < 2.75 AND e = 1E9;")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT `a 1` FROM t2",
        'SELECT "5" FROM t',
        "SELECT a -- 5\nFROM t",
        "SELECT a /* '5' */ FROM t",
        "SELECT col_5, x2y FROM t",
    ],
)
def test_names_and_comments_have_no_literals(sql: str) -> None:
    """A digit in a name, in quotes or in a comment is not a number."""
    assert values(sql) == []
    assert text(sql) == sql


def test_types_make_different_shapes() -> None:
    """5 and 5000000000 have different types, and so have 1.5 and 1.55."""
    assert text("k = 5") != text("k = 5000000000")
    assert text("k = 1.5") != text("k = 1.55")
    assert text("k = '5'") != text("k = 5")


def test_variables_have_no_shape() -> None:
    """What a variable stands for changes the text of the statement."""
    assert shape_of("SELECT ${x} FROM t WHERE k = 5") is None
