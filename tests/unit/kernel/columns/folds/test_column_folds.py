"""Folds of columns have the states of the same functions record by record.

Exercises ``folds``, ``known_folds`` and ``row_fold``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.expr.aggregates import NamedAggregates, SingleAggregate, count_start, count_step
from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.folds.column_folds import AggregatorFold, ReduceFold, check_known
from penstock.kernel.columns.folds.known_folds import fold_of
from penstock.kernel.columns.folds.row_fold import RowFold
from penstock.kernel.columns.grouping import grouped
from penstock.model.column_function import ColumnAggregator
from penstock.model.columns.row_columns import RowColumns
from penstock.model.field_fold import FieldFold
from penstock.model.user_code import UserCodeError

KEYS = [b"a", b"b", b"c"]


@dataclass(frozen=True)
class Pair:
    """A column fold, and the functions that records call."""

    fold: Any
    initialize: Callable[[], Any]
    step: Callable[[Any, Any, Any], Any]


def of_functions(owner: Any) -> Pair:
    fold = fold_of(owner.initialize, owner.aggregate)
    assert fold is not None
    return Pair(fold, owner.initialize, owner.aggregate)


def counting() -> Pair:
    fold = fold_of(count_start, count_step)
    assert fold is not None
    return Pair(fold, count_start, count_step)


def reducing() -> Pair:
    def step(key: Any, value: Any, state: Any) -> Any:
        return value["n"] if state is None else operator.add(state, value["n"])

    return Pair(_OfField(ReduceFold(operator.add)), lambda: None, step)


@dataclass(frozen=True)
class _OfField:
    """Folds a member of each value, as a mapper before the fold would."""

    inner: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def items(self, batch: Batch) -> Any:
        return [[value["n"] for value in batch.values.values()]]


def aggregating() -> Pair:
    aggregator = ColumnAggregator(lambda key, value, state: [*state, value["n"]])
    fold = fold_of(list, aggregator)
    assert isinstance(fold, AggregatorFold)
    return Pair(fold, list, aggregator)


n, m = ps.col("n"), ps.col("m")
PAIRS = {
    "count": counting(),
    "reduce": reducing(),
    "aggregator": aggregating(),
    "sum": of_functions(SingleAggregate(ps.sum_(n))),
    "sum of some": of_functions(SingleAggregate(ps.sum_(m))),
    "greatest": of_functions(SingleAggregate(ps.max_(n))),
    "collected": of_functions(SingleAggregate(ps.collect(m))),
    "named": of_functions(NamedAggregates({"least": ps.min_(m), "all": ps.collect(n)})),
}
RECORDS = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.fixed_dictionaries({"n": st.integers(-3, 3), "m": st.none() | st.integers(0, 3)}),
    ),
    min_size=1,
    max_size=12,
)


def folded(pair: Pair, records: list[tuple[bytes, Any]], states: dict[bytes, Any]) -> list[Any]:
    """Return the state after each record, one by one; the dict has the last states."""
    found = []
    for key, value in records:
        state = states[key] if key in states else pair.initialize()
        states[key] = pair.step(key, value, state)
        found.append(states[key])
    return found


@pytest.mark.parametrize("name", PAIRS)
@given(before=RECORDS, records=RECORDS)
def test_states_are_those_of_single_records(
    name: str, before: list[tuple[bytes, Any]], records: list[tuple[bytes, Any]]
) -> None:
    """After each record and after all of them, from what the store has or from the start."""
    pair, stored = PAIRS[name], dict[bytes, Any]()
    folded(pair, before, stored)
    keys = [key for key, _ in records]
    groups = grouped(keys)
    values = BatchColumn([value for _, value in records])
    items = pair.fold.items(Batch(BatchColumn([*keys]), values, np.arange(len(keys))))

    def first() -> list[Any]:
        return [stored[key] if key in stored else pair.fold.start() for key in groups.keys]

    running = first()
    found = pair.fold.running(items, groups, running)
    after = dict(stored)
    assert found == folded(pair, records, after)
    assert running == [after[key] for key in groups.keys]
    if any(state is None for state in running):
        return
    assert [*pair.fold.finals(items, groups, first())] == running


LEAST = of_functions(SingleAggregate(ps.min_(m))).fold


def test_a_state_of_none_is_left_to_records_even_if_it_is_gone_at_the_end() -> None:
    """It deletes the row, so the next record has a new timestamp."""
    groups = grouped([b"a", b"a"])
    with pytest.raises(NotProvenError, match="an aggregate is None"):
        LEAST.finals([[None, 1]], groups, [None])
    with pytest.raises(NotProvenError, match="an aggregate is None"):
        check_known([1, None])
    assert [*LEAST.finals([[None, 1]], groups, [5])] == [1]
    assert [*LEAST.finals([[2, 1]], groups, [None])] == [1]


@pytest.mark.parametrize("name", ["reduce", "aggregator", "sum"])
def test_each_state_goes_through_the_store(name: str) -> None:
    """The change has the state as it was written, the next record what the store returns."""
    fold, groups = PAIRS[name].fold, grouped([b"a", b"a"])
    if name == "aggregator":
        states: list[Any] = [["0"]]
        items: Any = [[{"n": "1"}, {"n": "2"}]]
        assert fold.running(items, groups, states, lambda state: state[-1:]) == [
            ["0", "1"], ["1", "2"],
        ]  # fmt: skip
        assert states == [["2"]]
        return
    states = [10]
    assert fold.running([[1, 2]], groups, states, lambda state: state * 2) == [11, 24]
    assert states == [48]
    assert [*fold.finals([[1, 2]], groups, [10], lambda state: state * 2)] == [48]


NAMED = of_functions(NamedAggregates({"n": ps.count()})).fold


def test_members_of_another_version_of_the_program_stay() -> None:
    """A member that is missing fails by record, too."""
    groups = grouped([b"a"])
    assert [*NAMED.finals([[1]], groups, [{"n": 1, "old": 7}])] == [{"n": 2, "old": 7}]
    assert NAMED.running([[1]], groups, [{"n": 1, "old": 7}]) == [{"n": 2, "old": 7}]
    with pytest.raises(UserCodeError, match="serde raised KeyError"):
        NAMED.finals([[1]], groups, [{"old": 7}])


def test_only_a_count_may_take_records_in_any_order() -> None:
    assert [name for name, pair in PAIRS.items() if pair.fold.is_order_free] == ["count"]
    free = ColumnAggregator(lambda key, value, state: state, is_order_free=True)
    assert AggregatorFold(list, free).is_order_free
    assert RowFold((), AggregatorFold(list, free)).is_order_free


def summed(states: list[Any], codes: Any, columns: Any) -> None:
    for code, value in zip(codes.tolist(), columns[0], strict=True):
        states[code] += value


#: A sum with a column form, a list without one, and a count that takes no field.
PARTS = (
    FieldFold(slice(0, 1), int, lambda state, value: state + value, summed),
    FieldFold(slice(1, 2), list, lambda state, value: [*state, value]),
    FieldFold(slice(2, 2), int, lambda state: state + 1),
)


def add_row(key: Any, row: Any, states: Any) -> Any:
    first = [part.start() for part in PARTS] if states is None else states
    return tuple(
        part.step(state, *row[part.fields]) for part, state in zip(PARTS, first, strict=True)
    )


ROWS = RowFold(PARTS, AggregatorFold(lambda: None, ColumnAggregator(add_row, fields=PARTS)))


@pytest.mark.parametrize("first", [[None, None], [(5, [0], 3), None], [None, (5, [0], 3)]])
@pytest.mark.parametrize("as_columns", [True, False])
@pytest.mark.parametrize("through", [None, lambda state: state])
def test_rows_are_folded_part_by_part(first: list[Any], as_columns: bool, through: Any) -> None:
    """A group without records starts from the parts' own starts, and lists are not shared."""
    rows: Any = [(1, "x"), (2, "y"), (3, "z")]
    if as_columns:
        rows = RowColumns([[1, 2, 3], ["x", "y", "z"]], 3)
    keys = [b"a", b"b", b"a"]
    items = ROWS.items(Batch(BatchColumn([*keys]), BatchColumn(rows), np.arange(3)))
    groups, states, running = grouped(keys), [*first], [*first]
    expected = []
    for key, row in zip(keys, rows, strict=True):
        place = groups.keys.index(key)
        states[place] = add_row(key, row, states[place])
        expected.append(states[place])
    assert ROWS.running(items, groups, running, through) == expected
    assert running == states
    assert [*ROWS.finals(items, groups, [*first], through)] == states
    assert ROWS.start() is None


def test_rows_without_fields_are_counted() -> None:
    """``COUNT(*)`` takes no column at all."""
    only = RowFold(PARTS[2:], AggregatorFold(lambda: None, ColumnAggregator(add_row)))
    groups = grouped([b"a", b"b", b"a"])
    assert [*only.finals([], groups, [None, None])] == [(2,), (1,)]
