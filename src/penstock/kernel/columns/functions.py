"""Applies the functions of nodes to columns: expressions, column functions and a few built-ins."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, Self

from penstock.expr.expression import Expression
from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import NotVectorisableError
from penstock.kernel.columns.evaluate import evaluated
from penstock.kernel.columns.function_proof import PLAIN, side_effect, unread_arguments
from penstock.model.column_function import ColumnAggregator, ColumnFunction
from penstock.model.user_code import UserCodeError, user_code
from penstock.model.windows.windowed import Windowed

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


class ProvenFunction(ColumnFunction):
    """A function of the user that has no side effects, as its bytecode shows.

    That is proven for arguments of plain types. ``arguments`` checks them.
    """

    unread: frozenset[int]
    #: The function as the user gave it: a ``partial`` of a ``partial`` forgets the inner one.
    called: Callable[..., Any]

    def __new__(cls, fn: Callable[..., Any], /) -> Self:
        self = super().__new__(cls, fn)
        self.called = fn
        self.unread = unread_arguments(fn)
        return self

    def arguments(self, columns: Sequence[BatchColumn]) -> list[Iterable[Any]]:
        """Return the values of each argument; one that is never read is not decoded.

        Raises:
            NotProvenError: if an operator of a value may run code of the user.
        """
        return [
            repeat(None, len(column)) if place in self.unread else plain(column.values())
            for place, column in enumerate(columns)
        ]


def plain(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values; raise if one of them is not of a plain type."""
    types = {*map(type, values)}
    if Windowed in types:
        types.update(type(each.key) for each in values if isinstance(each, Windowed))
    if not types <= PLAIN:
        name = min(each.__name__ for each in types - PLAIN)
        raise NotProvenError(f"a function gets a {name}, whose operators may do anything")
    return values


def declared(fn: Any, what: str) -> Any:
    """Return an expression or a column function that does what ``fn`` does.

    Raises:
        NotVectorisableError: if ``fn`` may have side effects.
    """
    return fn if isinstance(fn, ColumnFunction | Expression) else proven(fn, what)


def proven(fn: Any, what: str) -> ProvenFunction:
    """Return a function of the user that has no side effects.

    Raises:
        NotVectorisableError: if it may have some.
    """
    why = side_effect(fn)
    if why is not None:
        raise NotVectorisableError(f"{what} is a Python function that {why}")
    return ProvenFunction(fn)


def pure(fn: Any, what: str) -> Callable[..., Any]:
    """Return a function that depends on its arguments alone.

    Raises:
        NotVectorisableError: if it may do anything else.
    """
    return fn if isinstance(fn, ColumnFunction | ColumnAggregator) else proven(fn, what)


def called(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the user's function itself: it is called in a third of the time."""
    return fn.called if isinstance(fn, ProvenFunction) else fn


def checked_by(*functions: Callable[..., Any]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return what looks at the types of the values that functions get, if one of them asks so."""
    return plain if any(isinstance(each, ProvenFunction) for each in functions) else _as_they_are


def _as_they_are(values: Sequence[Any]) -> Sequence[Any]:
    return values


def expression_of(fn: Any, what: str) -> OverBatch:
    """Return a function of a batch that calls ``fn`` with the key and value of each record.

    Raises:
        NotVectorisableError: if ``fn`` may have side effects.
    """
    known = declared(fn, what)
    if isinstance(known, ColumnFunction):
        return lambda batch: _called(known, batch.keys, batch.values)
    return lambda batch: evaluated(known, batch.keys, batch.values)


def mapper_of(fn: Any, what: str, *, with_key: bool) -> OverBatch:
    """Return a function of a batch that calls ``fn`` with each value, or with key and value."""
    if not with_key and any(fn is known for known in PURE_FUNCTIONS):
        return lambda batch: _mapped(fn, batch.values)
    known = declared(fn, what)
    if not with_key and isinstance(known, ColumnFunction):
        return lambda batch: _called(known, batch.values)
    return expression_of(known, what)


def lists_of(fn: Any, what: str, *, with_key: bool) -> OverBatch:
    """Return a function of a batch for an ``fn`` that returns a list for every record."""
    known = declared(fn, what)
    if not isinstance(known, ColumnFunction):
        return mapper_of(known, what, with_key=with_key)
    if with_key:
        return pairs_of(known, what)
    return lambda batch: _mapped(known, batch.values)


def pairs_of(fn: Any, what: str) -> OverBatch:
    """Return a function of a batch for an ``fn`` that returns keys and values.

    Expressions return single values, so they cannot be used here.
    """
    known = declared(fn, what)
    if not isinstance(known, ColumnFunction):
        raise NotVectorisableError(f"{what} is an expression, which returns no records")
    return lambda batch: _mapped(known, batch.keys, batch.values)


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
    return _mapped(fn, *columns) if found is None else found


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
        _mapped(fn, *columns)
        raise


def _mapped(fn: Any, *columns: BatchColumn) -> Sequence[Any]:
    """Return the function's result for every record, called one by one in their order."""
    if isinstance(fn, ProvenFunction):
        arguments, call = fn.arguments(columns), fn.called
    else:
        arguments = [column.values() for column in columns]
        call = fn.func if isinstance(fn, ColumnFunction) else fn
    with user_code("a function"):
        return [*map(call, *arguments)]


def joiner_of(fn: Any, *, with_key: bool) -> OverSides:
    """Return a function that joins columns: keys, left values, right values.

    Raises:
        NotVectorisableError: if the joiner may have side effects.
    """
    known = declared(fn, "its joiner")
    if isinstance(known, ColumnFunction):
        if with_key:
            return lambda keys, left, right: _called(known, keys, left, right)
        return lambda keys, left, right: _called(known, left, right)
    if with_key:
        raise NotVectorisableError("its joiner is an expression and takes the key")
    return lambda keys, left, right: evaluated(known, left, right)
