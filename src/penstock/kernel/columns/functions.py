"""Applies the functions of nodes to columns: expressions, column functions and a few built-ins."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from penstock.expr.expression import Expression
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import NotVectorisableError
from penstock.kernel.columns.evaluate import evaluated
from penstock.model.column_function import ColumnFunction
from penstock.model.user_code import UserCodeError, user_code

#: Functions of one value without side effects. A lambda may have side effects.
PURE_FUNCTIONS: tuple[Any, ...] = (
    bool, float, int, len, repr, str, str.lower, str.lstrip, str.rstrip, str.split, str.strip,
    str.title, str.upper,
)  # fmt: skip
#: Functions of two values without side effects.
PURE_REDUCERS: tuple[Any, ...] = (max, min, operator.add, operator.mul, operator.or_)

OverBatch = Callable[[Batch], Sequence[Any]]
#: Takes the columns of keys, left values and right values.
OverSides = Callable[[BatchColumn, BatchColumn, BatchColumn], Sequence[Any]]


def expression_of(fn: Any, what: str) -> OverBatch:
    """Return a function of a batch that calls ``fn`` with the key and value of each record.

    Raises:
        NotVectorisableError: if ``fn`` may have side effects.
    """
    if isinstance(fn, ColumnFunction):
        return lambda batch: _called(fn, batch.keys, batch.values)
    if not isinstance(fn, Expression):
        raise NotVectorisableError(
            f"{what} is a Python function: only expressions run over columns"
        )
    return lambda batch: evaluated(fn, batch.keys, batch.values)


def mapper_of(fn: Any, what: str, *, with_key: bool) -> OverBatch:
    """Return a function of a batch that calls ``fn`` with each value, or with key and value."""
    if not with_key and any(fn is known for known in PURE_FUNCTIONS):
        return lambda batch: _mapped(fn, batch.values)
    if not with_key and isinstance(fn, ColumnFunction):
        return lambda batch: _called(fn, batch.values)
    return expression_of(fn, what)


def lists_of(fn: Any, what: str, *, with_key: bool) -> OverBatch:
    """Return a function of a batch for an ``fn`` that returns a list for every record."""
    if not isinstance(fn, ColumnFunction):
        return mapper_of(fn, what, with_key=with_key)
    if with_key:
        return pairs_of(fn, what)
    return lambda batch: _mapped(fn.func, batch.values)


def pairs_of(fn: Any, what: str) -> OverBatch:
    """Return a function of a batch for an ``fn`` that returns keys and values.

    Expressions return single values, so only a ``ColumnFunction`` can be used here.
    """
    if not isinstance(fn, ColumnFunction):
        raise NotVectorisableError(f"{what} is a Python function that returns records")
    return lambda batch: _mapped(fn.func, batch.keys, batch.values)


def flat_of(fn: Any, *, with_key: bool) -> Callable[[Batch], Any] | None:
    """Return the column form of a function that returns any number of results, if it has one."""
    if not isinstance(fn, ColumnFunction) or fn.over_columns is None:
        return None
    if with_key:
        return lambda batch: _over_columns(fn, batch.keys, batch.values)
    return lambda batch: _over_columns(fn, batch.values)


def _called(fn: ColumnFunction, *columns: BatchColumn) -> Sequence[Any]:
    """Return the function's result for every record: all at once if it can, else one by one."""
    found: Sequence[Any] | None = _over_columns(fn, *columns)
    return _mapped(fn.func, *columns) if found is None else found


def _over_columns(fn: ColumnFunction, *columns: BatchColumn) -> Any:
    """Return the result of the column form; ``None`` if there is no form, or it returns ``None``.

    An error that the function itself does not have for any record is a fault of the column form. It
    is raised as it is.
    """
    if fn.over_columns is None:
        return None
    try:
        return fn.over_columns(*columns)
    except UserCodeError:
        raise
    except Exception:
        _mapped(fn.func, *columns)
        raise


def _mapped(fn: Any, *columns: BatchColumn) -> Sequence[Any]:
    arguments = [column.values() for column in columns]
    with user_code("a function"):
        return [*map(fn, *arguments)]


def joiner_of(fn: Any, *, with_key: bool) -> OverSides:
    """Return a function that joins columns: keys, left values, right values.

    Raises:
        NotVectorisableError: if the joiner may have side effects.
    """
    if isinstance(fn, ColumnFunction):
        if with_key:
            return lambda keys, left, right: _called(fn, keys, left, right)
        return lambda keys, left, right: _called(fn, left, right)
    if with_key or not isinstance(fn, Expression):
        raise NotVectorisableError(
            "its joiner is a Python function: only expressions run over columns"
        )
    return lambda keys, left, right: evaluated(fn, left, right)
