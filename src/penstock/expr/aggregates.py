"""Aggregates over expressions: ``aggregate(total=sum_(col("amount")), payments=count())``.

``col("amount").sum()`` is the same as ``sum_(col("amount"))``. Each is a fold with a start, a step
and, for sessions, a merge. None is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.expr.aggregate import (
    Aggregate,
    collected,
    earliest,
    largest,
    latest,
    mean,
    plus,
    smallest,
    summed,
)
from penstock.expr.expression import lit, wrapped


def count() -> Aggregate:
    """Count the records."""
    return Aggregate("count", lit(1), 0, plus, plus)


def sum_(of: Any) -> Aggregate:
    """Add up the values that are not None; 0 if there are none."""
    return summed(wrapped(of))


def min_(of: Any) -> Aggregate:
    """Keep the smallest value that is not None."""
    return smallest(wrapped(of))


def max_(of: Any) -> Aggregate:
    """Keep the largest value that is not None."""
    return largest(wrapped(of))


def first(of: Any) -> Aggregate:
    """Keep the first value that is not None."""
    return earliest(wrapped(of))


def last(of: Any) -> Aggregate:
    """Keep the last value that is not None."""
    return latest(wrapped(of))


def collect(of: Any) -> Aggregate:
    """Collect all values that are not None in a list, in their order."""
    return collected(wrapped(of))


def avg(of: Any) -> Aggregate:
    """Keep the mean with sum and count: ``{"sum", "count", "avg"}``. None is left out."""
    return mean(wrapped(of))


class NamedAggregates:
    """Several aggregates together: the result is an object with a member for each."""

    def __init__(self, named: Mapping[str, Aggregate]) -> None:
        self._named = dict(named)

    @property
    def named(self) -> Mapping[str, Aggregate]:
        return self._named

    def initialize(self) -> dict[str, Any]:
        return {name: _fresh(each.start) for name, each in self._named.items()}

    def aggregate(self, key: Any, value: Any, so_far: dict[str, Any]) -> dict[str, Any]:
        result = dict(so_far)
        for name, each in self._named.items():
            item = each.of(key, value)
            if item is not None:
                result[name] = each.step(result[name], item)
        return result

    def merge(self, key: Any, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        return {
            name: one[name] if other[name] is None else each.merge(one[name], other[name])
            for name, each in self._named.items()
        }


class SingleAggregate:
    """One aggregate without a name: the result is the value itself, not an object."""

    def __init__(self, only: Aggregate) -> None:
        self.only = only

    def initialize(self) -> Any:
        return _fresh(self.only.start)

    def aggregate(self, key: Any, value: Any, so_far: Any) -> Any:
        item = self.only.of(key, value)
        return so_far if item is None else self.only.step(so_far, item)

    def merge(self, key: Any, one: Any, other: Any) -> Any:
        return one if other is None else self.only.merge(one, other)


# The functions of ``count()``. The planner of columns recognizes them.


def count_start() -> int:
    return 0


def count_step(key: Any, value: Any, so_far: int) -> int:
    return so_far + 1


def count_merge(key: Any, one: int, other: int) -> int:
    return one + other


def _fresh(start: Any) -> Any:
    return start.copy() if isinstance(start, list | dict) else start
