"""Which errors of functions over columns are the user's, and which are faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.folds.row_fold import RowFold
from penstock.kernel.columns.functions import flat_of, joiner_of, mapper_of
from penstock.kernel.columns.grouping import Groups
from penstock.model.column_function import ColumnAggregator, ColumnFunction
from penstock.model.field_fold import FieldFold
from penstock.model.user_code import UserCodeError


def halved(value: int) -> int:
    return value // 2


def failing(*columns: Any) -> Any:
    raise TypeError("a column form fails")


def batch(*values: Any) -> Batch:
    keys = BatchColumn([f"k{place}" for place in range(len(values))])
    return Batch(keys, BatchColumn([*values]), np.arange(len(values)))


Call = Callable[[ColumnFunction, Batch], Any]


def map_values(fn: ColumnFunction, given: Batch) -> Any:
    return mapper_of(fn, "its function", with_key=False)(given)


def flat_map_values(fn: ColumnFunction, given: Batch) -> Any:
    flat = flat_of(fn, with_key=False)
    assert flat is not None
    return flat(given)


def join(fn: ColumnFunction, given: Batch) -> Any:
    def joiner(left: Any, right: Any) -> Any:
        return fn.func(left)

    both = ColumnFunction(joiner, over_columns=fn.over_columns)
    return joiner_of(both, with_key=False)(given.keys, given.values, given.values)


@pytest.mark.parametrize("call", [map_values, flat_map_values, join])
def test_an_error_of_the_column_form_alone_is_a_fault(call: Call) -> None:
    """The function itself takes every record of the batch."""
    with pytest.raises(TypeError, match="a column form fails"):
        call(ColumnFunction(halved, over_columns=failing), batch(4, 6))


@pytest.mark.parametrize("call", [map_values, flat_map_values, join])
def test_an_error_that_the_function_has_as_well_is_the_users(call: Call) -> None:
    """Record at a time finds out which record it is."""
    with pytest.raises(UserCodeError, match="a function raised TypeError"):
        call(ColumnFunction(halved, over_columns=failing), batch(4, "x"))


def test_a_column_form_that_cannot_tell_leaves_the_batch_to_the_function() -> None:
    cannot = ColumnFunction(halved, over_columns=lambda values: None)
    assert map_values(cannot, batch(4, 6)) == [2, 3]
    assert flat_map_values(cannot, batch(4, 6)) is None
    assert flat_of(ColumnFunction(halved), with_key=False) is None
    assert flat_of(halved, with_key=False) is None


@pytest.mark.parametrize("second", [2, "x"])
def test_the_same_holds_for_the_parts_of_an_aggregate(second: Any) -> None:
    """``x`` cannot be added by a single step either."""

    def add(state: int, value: int) -> int:
        return state + value

    def spoil(states: list[Any], codes: Any, columns: Any) -> None:
        states[0] = "spoilt"
        raise TypeError("a column form fails")

    part = FieldFold(slice(0, 1), int, add, spoil)
    fold = RowFold((part,), ColumnAggregator(lambda key, value, state: state))  # type: ignore[arg-type]
    groups = Groups(np.array([0, 0]), [b"k"])
    expected = TypeError if second == 2 else UserCodeError
    with pytest.raises(expected, match=r"a column form fails|an aggregator raised TypeError"):
        fold.finals([[1, second]], groups, [(5,)])
