"""Folds the records of sessions one by one, and merges sessions.

Which sessions a record belongs to depends on all records before. So a session's state is made
record by record, as the record executor does it, but from columns and without the store in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.expr.aggregates import NamedAggregates, SingleAggregate, count_merge
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.folds.column_folds import (
    AggregatorFold,
    ColumnFold,
    CountFold,
    ExpressionFold,
    Items,
    NamedFold,
)
from penstock.kernel.columns.folds.function_fold import FunctionFold
from penstock.kernel.columns.folds.known_folds import fold_of
from penstock.kernel.columns.folds.row_fold import RowFold
from penstock.kernel.columns.functions import called, checked_by, pure
from penstock.model.user_code import UserCodeError

#: Takes a state and the place of a record, and returns the next state.
Step = Callable[[Any, int], Any]
#: Takes the place of a record and the states of two sessions, and returns that of both.
Merge = Callable[[int, Any, Any], Any]


class SessionFold:
    """The functions of a session aggregation, for records that are rows of columns.

    Raises:
        NotVectorisableError: if one of the functions may have side effects.
    """

    def __init__(self, initializer: Any, fn: Any, merger: Any) -> None:
        fold = fold_of(initializer, fn)
        self.fold: ColumnFold = fold.whole if isinstance(fold, RowFold) else fold
        self._step = _step_of(self.fold)
        self.looks_at_values = not isinstance(fold, CountFold)
        self.looks_at_keys = False
        self._checked = checked_by()
        if merger is count_merge or _is_built_in(merger):
            self._merge = merger
        else:
            known = pure(merger, "its merger")
            self._merge = called(known)
            self.looks_at_keys = 0 not in getattr(known, "unread", ())
            self._checked = checked_by(fn if isinstance(fold, FunctionFold) else known, known)

    def items(self, batch: Batch) -> Items:
        return self.fold.items(batch)

    def start(self) -> Any:
        return self.fold.start()

    def check(self, states: Sequence[Any]) -> None:
        """Raise if the merger may not be called with one of these keys or states."""
        self._checked(states)

    def over(self, items: Items, keys: Sequence[Any]) -> tuple[Step, Merge]:
        """Return the functions for records with these items; ``keys`` only if it looks at them."""
        fold, merger = self._step, self._merge

        def step(state: Any, place: int) -> Any:
            try:
                return fold(state, *[column[place] for column in items])
            except Exception as error:
                raise UserCodeError(f"an aggregator raised {type(error).__name__}") from error

        def step_alone(state: Any, place: int) -> Any:
            try:
                return fold(state)
            except Exception as error:
                raise UserCodeError(f"an aggregator raised {type(error).__name__}") from error

        def merge(place: int, one: Any, other: Any) -> Any:
            try:
                return merger(keys[place] if keys else None, one, other)
            except Exception as error:
                raise UserCodeError(f"a merger raised {type(error).__name__}") from error

        return (step if items else step_alone), merge


def _is_built_in(merger: Any) -> bool:
    """Tell whether it merges aggregates over expressions, which do not look at the key."""
    return isinstance(getattr(merger, "__self__", None), SingleAggregate | NamedAggregates)


def _step_of(fold: ColumnFold) -> Callable[..., Any]:
    """Return what takes a state and the items of one record, and returns the next state."""
    match fold:
        case CountFold():
            return _one_more
        case ExpressionFold(single=single):
            step = single.only.step
            return lambda state, item: state if item is None else step(state, item)
        case NamedFold(named=named):
            return _named_step(named)
        case AggregatorFold(aggregator=aggregator):
            add = aggregator.func
            return lambda state, value: add(None, value, state)
        case FunctionFold():
            return fold.step
        case _:
            raise TypeError(f"{type(fold).__name__} has no step for one record")


def _one_more(state: int) -> int:
    return state + 1


def _named_step(named: NamedAggregates) -> Callable[..., Any]:
    steps = [(name, each.step) for name, each in named.named.items()]

    def step(state: dict[str, Any], *items: Any) -> dict[str, Any]:
        result = dict(state)
        for (name, add), item in zip(steps, items, strict=True):
            if item is not None:
                result[name] = add(result[name], item)
        return result

    return step
