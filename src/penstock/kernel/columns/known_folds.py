"""Finds the column fold that does the same as the functions of a node."""

from __future__ import annotations

from typing import Any, Final

from penstock.expr.aggregates import NamedAggregates, SingleAggregate, count_start, count_step
from penstock.kernel.columns.folds import (
    AggregatorFold,
    ColumnFold,
    CountFold,
    ExpressionFold,
    NamedFold,
)
from penstock.kernel.columns.row_fold import RowFold
from penstock.model.column_function import ColumnAggregator

#: Why a node has to take single records if there is no column fold for its function.
UNKNOWN_FUNCTION: Final = (
    "its function is a Python function: count, expressions and a few built-in functions run over"
    " columns"
)


def fold_of(initializer: Any, fn: Any) -> ColumnFold | None:
    """Return the column fold that does the same as these functions; ``None`` if none is known."""
    if initializer is count_start and fn is count_step:
        return CountFold()
    if isinstance(fn, ColumnAggregator):
        whole = AggregatorFold(initializer, fn)
        return RowFold(fn.fields, whole) if fn.fields else whole
    owner = getattr(fn, "__self__", None)
    if getattr(initializer, "__self__", None) is not owner:
        return None
    if isinstance(owner, SingleAggregate):
        return ExpressionFold(owner)
    return NamedFold(owner) if isinstance(owner, NamedAggregates) and owner.named else None
