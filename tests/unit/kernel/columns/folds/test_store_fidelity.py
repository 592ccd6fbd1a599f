"""A state stays in memory between two records only where its store would not change it."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.expr.aggregates import NamedAggregates, SingleAggregate, count_start, count_step
from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.column_executor import NotVectorisableError
from penstock.kernel.columns.folds.column_folds import (
    AggregatorFold,
    CountFold,
    ExpressionFold,
    ReduceFold,
)
from penstock.kernel.columns.folds.function_fold import FunctionFold
from penstock.kernel.columns.folds.known_folds import fold_of
from penstock.kernel.columns.folds.store_fidelity import state_check
from penstock.model.column_function import ColumnAggregator
from penstock.serde.base import Serde
from penstock.serde.column_serde import ColumnSerde, HasColumnSerde
from penstock.serde.json import JsonSerde
from penstock.serde.primitives import (
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
)

SUMS = ReduceFold(max)
LIMITS = [(ShortSerde(), 2**15), (IntegerSerde(), 2**31), (LongSerde(), 2**63)]


@pytest.mark.parametrize(("serde", "limit"), LIMITS, ids=lambda each: type(each).__name__)
def test_states_up_to_the_limit_of_the_store_are_kept(serde: Serde[Any], limit: int) -> None:
    """Whatever their signs, no sum of the items and a state may reach it."""
    check = state_check(serde, SUMS)
    serde.encode(limit - 1)
    assert check([[limit - 1]], [None]) is None
    assert check([[1, None, -2]], [3 - limit + 1]) is None
    assert check([[limit - 3]], [2, 1]) is None
    for items, states in (
        ([[limit]], [None]), ([[limit - 1, 1]], []), ([[-limit]], [None]), ([[1], [limit - 1]], []),
        ([[limit - 3]], [1, 3]), ([[1]], [1 - limit]),
    ):  # fmt: skip
        with pytest.raises(NotProvenError, match="too large"):
            check(items, states)


def test_without_items_there_is_nothing_to_be_too_large() -> None:
    assert state_check(LongSerde(), CountFold())([], [2**63]) is None


@pytest.mark.parametrize(
    ("serde", "good", "bad"),
    [
        (BytesSerde(), [b"a"], ["a"]),
        (IntegerSerde(), [1, None], [1.0]),
        (LongSerde(), [1, None], [True]),
        (ShortSerde(), [1, None], ["a"]),
        (StringSerde(), ["a", None], [b"a"]),
        (JsonSerde(), [True, {"a": 1}, 1.5, 1, [1], "a", None], [(1, 2)]),
        (JsonSerde(), [{"a": [1]}], [{"a": (1,)}]),
        (JsonSerde(), [[1, "a"]], [[(1,)]]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_items_of_other_types_go_through_the_store(
    serde: Serde[Any], good: list[Any], bad: list[Any]
) -> None:
    check = state_check(serde, SUMS)
    assert check([good], []) is None
    with pytest.raises(NotProvenError, match="may change"):
        check([good, bad], [])


def test_a_store_of_doubles_makes_floats() -> None:
    """Unless all of them are floats."""
    check = state_check(DoubleSerde(), SUMS)
    assert check([[1.5, 2.0]], []) is None
    assert check([[1.5, 2]], []) is float
    assert check([[1.5, None]], []) is float


@pytest.mark.parametrize("serde", [DoubleSerde(), StringSerde(), BytesSerde()])
def test_counts_are_kept_only_where_ints_are(serde: Serde[Any]) -> None:
    with pytest.raises(NotVectorisableError, match=type(serde).__name__):
        state_check(serde, CountFold())
    state_check(serde, SUMS)


def test_a_serde_of_unknown_types_is_left_to_records() -> None:
    with pytest.raises(NotVectorisableError, match="BooleanSerde"):
        state_check(BooleanSerde(), SUMS)


class Halved(StringSerde):
    """Gives back half of what it was given."""

    def decode(self, data: bytes) -> str:
        return super().decode(data)[: len(data) // 2]


class Keeping(Halved, HasColumnSerde):
    """Says that it gives back what it was given, and is believed."""

    @property
    def column_serde(self) -> ColumnSerde:
        return ColumnSerde(wire="kept", keeps_values=True)


def test_states_of_column_aggregators_go_through_the_serde() -> None:
    """Unless the serde says that it gives back what it was given."""
    fold = AggregatorFold(lambda: "", ColumnAggregator(lambda key, value, state: state))
    through = state_check(Halved(), fold)([["any"]], [])
    assert through is not None
    assert through("abcd") == "ab"
    assert state_check(Keeping(), fold)([["any"]], []) is None


def test_the_fold_of_known_functions() -> None:
    single, named = SingleAggregate(ps.sum_(ps.value)), NamedAggregates({"n": ps.count()})
    assert isinstance(fold_of(count_start, count_step), CountFold)
    with pytest.raises(NotVectorisableError, match="its aggregator is a Python function that"):
        fold_of(int, print)
    with pytest.raises(NotVectorisableError, match="its initializer is a Python function that"):
        fold_of(input, count_step)
    assert isinstance(fold_of(single.initialize, single.aggregate), ExpressionFold)
    other = SingleAggregate(ps.sum_(ps.value))
    with pytest.raises(NotVectorisableError):
        fold_of(other.initialize, single.aggregate)
    assert fold_of(named.initialize, named.aggregate) is not None
    assert isinstance(
        fold_of(int, ColumnAggregator(lambda key, value, state: state)), AggregatorFold
    )
    assert isinstance(fold_of(int, lambda key, value, state: state), FunctionFold)
