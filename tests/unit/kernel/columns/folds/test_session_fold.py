"""The functions of sessions over columns return what they return record by record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.expr.aggregates import (
    NamedAggregates,
    SingleAggregate,
    count_merge,
    count_start,
    count_step,
)
from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import NotVectorisableError
from penstock.kernel.columns.folds.session_fold import SessionFold
from penstock.model.column_function import ColumnAggregator, ColumnFunction
from penstock.model.user_code import UserCodeError

KEYS = ["a", "b", "a", "c"]
VALUES: list[Any] = [{"n": 1, "s": "x"}, {"n": None, "s": "y"}, {"s": "z"}, {"n": 2.5, "s": None}]
SINGLE = SingleAggregate(ps.sum_(ps.col("n")))
NAMED = NamedAggregates(
    {"n": ps.count(), "last": ps.last(ps.col("s")), "mean": ps.avg(ps.col("n"))}
)
Functions = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
FUNCTIONS: dict[str, Functions] = {
    "count": (count_start, count_step, count_merge),
    "expression": (SINGLE.initialize, SINGLE.aggregate, SINGLE.merge),
    "expressions": (NAMED.initialize, NAMED.aggregate, NAMED.merge),
    "functions": (
        lambda: "", lambda key, value, text: f"{text}{key}{value}",
        lambda key, one, other: f"{key}({one}{other})",
    ),
    "key unread": (
        lambda: 0, lambda key, value, total: total + len(key), lambda key, one, other: one + other
    ),
    "rows": (
        lambda: None, ColumnAggregator(lambda _, row, state: (state or ()) + (row["s"],)),
        ColumnFunction(lambda _, one, other: (one or ()) + (other or ())),
    ),
}  # fmt: skip


def batch() -> Batch:
    times = np.arange(len(KEYS), dtype=np.int64)
    return Batch(BatchColumn(KEYS), BatchColumn(VALUES), times)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_steps_and_merges_are_those_of_the_functions(name: str) -> None:
    initializer, fn, merger = FUNCTIONS[name]
    fold = SessionFold(initializer, fn, merger)
    step, merge = fold.over(fold.items(batch()), KEYS if fold.looks_at_keys else ())
    state, expected = fold.start(), initializer()
    assert state == expected
    for place, (key, value) in enumerate(zip(KEYS, VALUES, strict=True)):
        state, expected = step(state, place), fn(key, value, expected)
        assert state == expected
        both = merge(place, fold.start(), state)
        assert both == merger(key, initializer(), expected)
        assert merge(place, both, state) == merger(key, both, state)


def test_only_what_functions_read_is_looked_at() -> None:
    """A count reads nothing; most mergers do not read the key."""
    looks = {n: (f.looks_at_values, f.looks_at_keys) for n, f in _folds()}
    assert looks["count"] == (False, False)
    assert looks["functions"] == (True, True)
    assert looks["key unread"] == (True, False)
    assert looks["expressions"] == (True, False)


def _folds() -> list[tuple[str, SessionFold]]:
    return [(name, SessionFold(*functions)) for name, functions in FUNCTIONS.items()]


def test_merger_that_may_do_anything_is_refused() -> None:
    seen: list[Any] = []
    with pytest.raises(NotVectorisableError, match="its merger is a Python function that"):
        SessionFold(count_start, count_step, lambda key, one, other: seen.append(key))


def test_errors_of_functions_are_those_of_the_user() -> None:
    fold = SessionFold(lambda: 0, lambda k, v, s: s // v["n"], lambda k, one, other: one // other)
    step, merge = fold.over(fold.items(batch()), ())
    assert step(7, 0) == 7
    with pytest.raises(UserCodeError, match="an aggregator raised TypeError"):
        step(7, 1)
    with pytest.raises(UserCodeError, match="a merger raised ZeroDivisionError"):
        merge(0, 1, 0)
    alone = SessionFold(lambda: 0, lambda k, v, s: 1 // s, count_merge)
    with pytest.raises(UserCodeError, match="an aggregator raised ZeroDivisionError"):
        alone.over(alone.items(batch()), ())[0](0, 0)


def test_states_of_unknown_types_are_not_given_to_functions() -> None:
    """An operator of theirs may do anything."""

    class Odd:
        pass

    SessionFold(*FUNCTIONS["functions"]).check(["a", None])
    SessionFold(*FUNCTIONS["count"]).check([Odd()])
    with pytest.raises(NotProvenError, match="Odd"):
        SessionFold(*FUNCTIONS["functions"]).check([Odd()])
