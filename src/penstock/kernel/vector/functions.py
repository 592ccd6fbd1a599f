"""Functions of nodes that can be applied to a column: expressions, and a few that are known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from penstock.expr.expression import Expression
from penstock.kernel.vector.batch import Batch, Column
from penstock.kernel.vector.evaluate import evaluate
from penstock.kernel.vector.step import NotVectorisableError
from penstock.model.pure import is_pure

#: Functions of one value without side effects. A lambda may do anything.
PURE_FUNCTIONS: tuple[Any, ...] = (
    bool, float, int, len, repr, str, str.lower, str.lstrip, str.rstrip, str.split, str.strip,
    str.title, str.upper,
)  # fmt: skip
#: Functions of two values without side effects.
PURE_REDUCERS: tuple[Any, ...] = (max, min, operator.add, operator.mul, operator.or_)

OverBatch = Callable[[Batch], Sequence[Any]]


def expression_of(fn: Any, what: str) -> OverBatch:
    """The function over key and value of every record; raises if it may do anything else."""
    if is_pure(fn):
        return lambda batch: [*map(fn, batch.keys.values(), batch.values.values())]
    if not isinstance(fn, Expression):
        raise NotVectorisableError(
            f"{what} is a Python function: only expressions run over columns"
        )
    return lambda batch: evaluate(fn, batch.keys, batch.values)


def mapper_of(fn: Any, what: str, *, with_key: bool) -> OverBatch:
    """The same, or a known function of the value."""
    if not with_key and any(fn is known for known in PURE_FUNCTIONS):
        return lambda batch: [*map(fn, batch.values.values())]
    if not with_key and is_pure(fn):
        return lambda batch: [*map(fn, batch.values.values())]
    return expression_of(fn, what)


def pairs_of(fn: Any, what: str) -> OverBatch:
    """The function over every record that gives keys and values; there is no expression for it."""
    if not is_pure(fn):
        raise NotVectorisableError(f"{what} is a Python function that gives records")
    return lambda batch: [*map(fn, batch.keys.values(), batch.values.values())]


def joiner_of(fn: Any, *, with_key: bool) -> Callable[[Column, Column, Column], Sequence[Any]]:
    """The joiner over keys, left and right values; raises if it may do anything else."""
    if is_pure(fn) and with_key:
        return lambda keys, left, right: [*map(fn, keys.values(), left.values(), right.values())]
    if with_key or not isinstance(fn, Expression):
        raise NotVectorisableError(
            "its joiner is a Python function: only expressions run over columns"
        )
    return lambda keys, left, right: evaluate(fn, left, right)
