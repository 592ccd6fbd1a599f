"""Aggregates over expressions: ``aggregate(total=sum_(col("amount")), payments=count())``.

Each is a fold with a start, a step and, for sessions, a merge. None is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.expr.expression import Expression, lit, wrapped

Fold = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """A fold over one expression. ``merge`` combines the results of two sessions."""

    name: str
    of: Expression
    start: Any
    step: Fold
    merge: Fold


def count() -> Aggregate:
    """Count the records."""
    return Aggregate("count", lit(1), 0, _plus, _plus)


def sum_(of: Any) -> Aggregate:
    """Add up the values that are not None; 0 if there are none."""
    return Aggregate("sum", wrapped(of), 0, _plus, _plus)


def min_(of: Any) -> Aggregate:
    """Keep the smallest value that is not None."""
    return Aggregate("min", wrapped(of), None, _smaller, _smaller)


def max_(of: Any) -> Aggregate:
    """Keep the largest value that is not None."""
    return Aggregate("max", wrapped(of), None, _larger, _larger)


def first(of: Any) -> Aggregate:
    """Keep the first value that is not None."""
    return Aggregate("first", wrapped(of), None, _keep, _keep)


def last(of: Any) -> Aggregate:
    """Keep the last value that is not None."""
    return Aggregate("last", wrapped(of), None, _take, _take)


def collect(of: Any) -> Aggregate:
    """Collect all values that are not None in a list, in their order."""
    return Aggregate("collect", wrapped(of), [], _append, _plus)


def avg(of: Any) -> Aggregate:
    """Keep the mean with sum and count: ``{"sum", "count", "avg"}``. None is left out."""
    start = {"sum": 0, "count": 0, "avg": None}
    return Aggregate("avg", wrapped(of), start, _average, _merge_averages)


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


def _plus(so_far: Any, item: Any) -> Any:
    return so_far + item


def _smaller(so_far: Any, item: Any) -> Any:
    return item if so_far is None or item < so_far else so_far


def _larger(so_far: Any, item: Any) -> Any:
    return item if so_far is None or item > so_far else so_far


def _keep(so_far: Any, item: Any) -> Any:
    return item if so_far is None else so_far


def _take(so_far: Any, item: Any) -> Any:
    return item


def _append(so_far: list[Any], item: Any) -> list[Any]:
    return [*so_far, item]


def _average(so_far: dict[str, Any], item: Any) -> dict[str, Any]:
    return _mean(so_far["sum"] + item, so_far["count"] + 1)


def _merge_averages(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return _mean(one["sum"] + other["sum"], one["count"] + other["count"])


def _mean(total: Any, number: int) -> dict[str, Any]:
    return {"sum": total, "count": number, "avg": total / number if number else None}
