"""An aggregate over an expression, as data, and the steps of those that are built in.

Users make them with ``col("amount").sum()`` or with the functions of ``expr.aggregates``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.expr.expression import Expression

Fold = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """A fold over one expression. ``merge`` combines the results of two sessions."""

    name: str
    of: Expression
    start: Any
    step: Fold
    merge: Fold


def summed(of: Expression) -> Aggregate:
    return Aggregate("sum", of, 0, plus, plus)


def smallest(of: Expression) -> Aggregate:
    return Aggregate("min", of, None, _smaller, _smaller)


def largest(of: Expression) -> Aggregate:
    return Aggregate("max", of, None, _larger, _larger)


def earliest(of: Expression) -> Aggregate:
    return Aggregate("first", of, None, _keep, _keep)


def latest(of: Expression) -> Aggregate:
    return Aggregate("last", of, None, _take, _take)


def collected(of: Expression) -> Aggregate:
    return Aggregate("collect", of, [], _append, plus)


def mean(of: Expression) -> Aggregate:
    start = {"sum": 0, "count": 0, "avg": None}
    return Aggregate("avg", of, start, _average, _merge_averages)


def plus(so_far: Any, item: Any) -> Any:
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
