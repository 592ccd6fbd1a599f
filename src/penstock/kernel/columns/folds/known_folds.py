"""Finds the column fold that does the same as the functions of a node."""

from __future__ import annotations

from typing import Any

from penstock.expr.aggregates import NamedAggregates, SingleAggregate, count_start, count_step
from penstock.kernel.columns.column_executor import NotVectorisableError
from penstock.kernel.columns.folds.column_folds import (
    AggregatorFold,
    ColumnFold,
    CountFold,
    ExpressionFold,
    NamedFold,
)
from penstock.kernel.columns.folds.function_fold import FunctionFold
from penstock.kernel.columns.folds.row_fold import RowFold
from penstock.kernel.columns.functions import called, pure
from penstock.model.column_function import ColumnAggregator
from penstock.processor.store_fold import StoreFold


def fold_of(initializer: Any, fn: Any) -> ColumnFold:
    """Return the column fold that does the same as these functions.

    Raises:
        NotVectorisableError: if one of them may have side effects.
    """
    check_has_no_store(fn)
    if initializer is count_start and fn is count_step:
        return CountFold()
    if isinstance(fn, ColumnAggregator):
        whole = AggregatorFold(initializer, fn)
        return RowFold(fn.fields, whole) if fn.fields else whole
    owner = getattr(fn, "__self__", None)
    if getattr(initializer, "__self__", None) is owner:
        if isinstance(owner, SingleAggregate):
            return ExpressionFold(owner)
        if isinstance(owner, NamedAggregates) and owner.named:
            return NamedFold(owner)
    start = pure(initializer, "its initializer")
    return FunctionFold(called(start), pure(fn, "its aggregator"))


def check_has_no_store(fn: Any) -> None:
    """Refuse an aggregator that keeps a part of its state in a store of its own.

    Raises:
        NotVectorisableError: if it does; each of its records needs what the one before wrote.
    """
    if isinstance(fn, StoreFold):
        raise NotVectorisableError(
            f"its distinct values are in the store {fn.spec.name!r}, one row for each"
        )
