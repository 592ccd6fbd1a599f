"""Folds with functions of the user have the states of the same functions record by record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.folds.function_fold import (
    FunctionFold,
    StoreRead,
    keeps_finite,
    keeps_scalars,
    reducing,
)
from penstock.kernel.columns.functions import proven
from penstock.kernel.columns.grouping import grouped
from penstock.model.user_code import UserCodeError


def folded(fn: Any, start: Any = int) -> FunctionFold:
    return FunctionFold(proven(start, "its initializer"), proven(fn, "its aggregator"))


def batch(*pairs: tuple[Any, Any]) -> Batch:
    keys, values = zip(*pairs, strict=True)
    return Batch(BatchColumn(keys), BatchColumn(values), np.arange(len(pairs)))


def test_each_record_is_folded_with_its_key_in_order() -> None:
    """The state after each record, and the last state of each key."""
    fold = folded(lambda key, value, state: f"{state}{key}{value}", str)
    given = batch(("a", 1), ("b", 2), ("a", 3))
    states = [fold.start(), fold.start()]
    found = fold.running(fold.items(given), grouped([b"a", b"b", b"a"]), states)
    assert found == ["a1", "b2", "a1a3"]
    assert states == ["a1a3", "b2"]


def test_what_is_never_read_is_not_kept() -> None:
    given = batch(("a", 1), ("b", 2))
    assert folded(lambda key, value, state: state + 1).items(given) == []
    assert folded(lambda key, value, state: state + value).items(given) == [(1, 2)]


def test_states_that_a_store_changes_go_through_it_one_by_one() -> None:
    """A store of doubles makes a float of an int, which a text of it shows."""
    fold = folded(lambda key, value, state: state + value if value else len(str(state)))
    groups, items = grouped([b"a"] * 3), [[1, 2, 0]]
    through = StoreRead(float, keeps_scalars(float))
    assert fold.running(items, groups, [0], None) == [1, 3, 1]
    states = [0]
    assert fold.running(items, groups, states, through) == [1, 3.0, 3]
    assert states == [3.0]
    kept = StoreRead(lambda state: pytest.fail("it is kept as it is"), keeps_scalars(int))
    assert fold.running(items, groups, [0], kept) == [1, 3, 1]


def test_reducer_is_not_called_with_the_first_value() -> None:
    fold = reducing(proven(lambda one, other: one * 10 + other, "its reducer"))
    states = [fold.start(), 5]
    given = batch(("a", 1), ("b", 2), ("a", 3))
    found = fold.finals(fold.items(given), grouped([b"a", b"b", b"a"]), states)
    assert found == [13, 52]


def test_state_that_is_none_gives_the_batch_up() -> None:
    """It deletes its row."""
    fold = folded(lambda key, value, state: None if value == 2 else value)
    with pytest.raises(NotProvenError, match="an aggregate is None"):
        fold.finals([[2, 3]], grouped([b"a", b"a"]), [0])


def test_errors_of_the_functions_are_the_users() -> None:
    fold = folded(lambda key, value, state: state / value, lambda: 1 / 0)
    with pytest.raises(UserCodeError, match="an aggregator raised ZeroDivisionError"):
        fold.finals([[0]], grouped([b"a"]), [1])
    with pytest.raises(UserCodeError, match="an initializer raised ZeroDivisionError"):
        fold.start()


def test_state_of_a_class_of_the_user_gives_the_batch_up() -> None:
    class Money:
        pass

    fold = folded(lambda key, value, state: state)
    with pytest.raises(NotProvenError, match="a function gets a Money"):
        fold.finals([], grouped([b"a"]), [Money()])


@pytest.mark.parametrize(
    ("states", "is_kept"),
    [
        ([1, True, "ü", 1.5], True),
        ([], True),
        ([2**63], False),
        ([math.nan], False),
        ([1, math.inf], False),
        (["\ud800"], False),
        ([None], False),
        ([(1,)], False),
        ([{"n": 1}], False),
    ],
)
def test_json_keeps_finite_scalars(states: list[Any], is_kept: bool) -> None:
    assert keeps_finite(states) is is_kept


def test_store_of_one_type_keeps_that_type_up_to_its_limit() -> None:
    assert keeps_scalars(float)([1.0, 2.0])
    assert not keeps_scalars(float)([1.0, 2])
    assert not keeps_scalars(int)([True])
    assert keeps_scalars(int, 10)([9, -9])
    assert not keeps_scalars(int, 10)([-10])
    assert not keeps_scalars(str)(["\ud800"])
