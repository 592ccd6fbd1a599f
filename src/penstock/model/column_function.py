"""Functions that say what the kernel may do with them over whole columns.

A function of the user may do anything: print, count its calls, look at a clock. So the kernel calls
it once per record, in the order of the records. A function that the SQL planner makes from
expressions depends on its arguments alone. The planner says so by wrapping it into one of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from penstock.model.field_fold import FieldFold


class MadeOf(ABC):
    """A function of this package that does nothing but call others, which may be the user's.

    Whether it has side effects depends on them alone.
    """

    __slots__ = ()

    @abstractmethod
    def parts(self) -> tuple[Callable[..., Any], ...]:
        """Return the functions that it calls."""

    @abstractmethod
    def __call__(self, *args: Any) -> Any: ...


class ColumnFunction(partial[Any]):
    """A function whose result depends on its arguments alone.

    The kernel may call it again for the same record, and in any order between keys.

    It is a ``partial`` because records call it like the function itself: Python calls a ``partial``
    without a frame of its own.

    Args:
        fn: takes one record.
        over_columns: does the same for a whole batch. In place of each argument of ``fn`` it takes
            a column, whose ``values()`` returns the values. It returns columns in place of the
            result: for a mapper the values, or keys and values. For a function that returns any
            number of results, the places of the records that the results belong to come first, or
            ``None`` if each record has exactly one. It returns ``None`` if the batch has something
            that only ``fn`` knows how to treat. Then ``fn`` is called for each record.
    """

    over_columns: Callable[..., Any] | None

    def __new__(
        cls, fn: Callable[..., Any], /, *, over_columns: Callable[..., Any] | None = None
    ) -> Self:
        self = super().__new__(cls, fn)
        self.over_columns = over_columns
        return self


class ColumnAggregator(partial[Any]):
    """An aggregator whose next state depends on the value and the state alone, not on the key.

    Args:
        fn: takes key, value and state, and returns the next state.
        is_order_free: whether the order of the values does not change the state.
        fields: the aggregates that it is made of, if states and values are rows. Each aggregate
            takes some fields of the value and keeps one field of the state.
    """

    is_order_free: bool
    fields: tuple[FieldFold, ...]

    def __new__(
        cls,
        fn: Callable[..., Any],
        /,
        *,
        is_order_free: bool = False,
        fields: tuple[FieldFold, ...] = (),
    ) -> ColumnAggregator:
        self = super().__new__(cls, fn)
        self.is_order_free = is_order_free
        self.fields = fields
        return self
