"""Aggregates over columns have the states of the same aggregates value by value."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sql.functions.aggregates.column_folds import (
    add_doubles,
    average_columns,
    count_columns,
    greatest,
    least,
    whole_adder,
)

GROUPS = 3
ROWS = st.lists(st.tuples(st.integers(0, GROUPS - 1), st.none() | st.integers(-5, 5)), max_size=30)


def folded(fold: Any, first: Any, rows: list[tuple[int, Any]]) -> list[Any]:
    states = [first] * GROUPS
    codes = np.array([code for code, _ in rows], np.int64)
    fold(states, codes, [[value for _, value in rows]])
    return states


def of_group(rows: list[tuple[int, Any]], code: int) -> list[Any]:
    return [value for group, value in rows if group == code and value is not None]


@given(rows=ROWS)
def test_each_group_gets_its_own_values_and_no_nulls(rows: list[tuple[int, int | None]]) -> None:
    """A group without a value keeps its first state."""
    groups = [of_group(rows, code) for code in range(GROUPS)]
    assert folded(count_columns, 10, rows) == [10 + len(values) for values in groups]
    assert folded(whole_adder(-(2**31), 2**31 - 1), 10, rows) == [10 + sum(v) for v in groups]
    assert folded(least, None, rows) == [min(values, default=None) for values in groups]
    assert folded(greatest, None, rows) == [max(values, default=None) for values in groups]
    assert folded(average_columns, {"SUM": 0, "COUNT": 0}, rows) == [
        {"SUM": sum(values), "COUNT": len(values)} for values in groups
    ]


def test_a_row_with_any_null_is_not_counted() -> None:
    """COUNT of several columns asks all of them."""
    states = [0, 0]
    count_columns(states, np.array([0, 0, 1], np.int64), [[1, None, 3], [1, 2, None]])
    assert states == [1, 0]


def test_doubles_are_added_in_the_order_of_the_records() -> None:
    """Another order gives another last digit."""
    rows = [(0, 1e16), (0, 1.0), (0, -1e16), (0, None)]
    assert folded(add_doubles, 0.0, rows)[0] == 0.0
    assert folded(add_doubles, 0.0, [rows[0], rows[2], rows[1]])[0] == 1.0


def test_a_sum_that_leaves_its_range_on_the_way_is_refused() -> None:
    """It is refused even if later values would bring it back: one by one it fails there."""
    add = whole_adder(-10, 10)
    assert folded(add, 0, [(0, 10), (0, -1)])[0] == 9
    with pytest.raises(ArithmeticError, match="11 is out of range"):
        folded(add, 0, [(0, 10), (0, 1), (0, -5)])


def test_the_sum_of_an_average_wraps_around_like_a_long() -> None:
    """As in ksqlDB, where only the sum of SUM is checked."""
    first = {"SUM": 2**63 - 1, "COUNT": 1}
    assert folded(average_columns, first, [(0, 1)])[0] == {"SUM": -(2**63), "COUNT": 2}
